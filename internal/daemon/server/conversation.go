package server

import "scv/internal/wire"

// A queuer looks at what waits and changes it.
type queuer struct{ *request }

func (r queuer) do(cmd wire.Command) (answer, error) {
	switch cmd := cmd.(type) {
	case wire.JobPrompt:
		return r.jobPrompt(cmd)
	case wire.JobMove:
		return r.jobMove(cmd)
	case wire.ConversationPause:
		return r.conversationPause(cmd)
	case wire.ConversationResume:
		return r.conversationResume(cmd)
	case wire.AgentResume:
		return r.agentResume(cmd)
	}
	return answer{}, notOffered(cmd)
}

// conversationPause holds what waits in a conversation.
func (r queuer) conversationPause(cmd wire.ConversationPause) (answer, error) {
	if err := conversationName(cmd.Session, cmd.Conversation); err != nil {
		return answer{}, err
	}
	return r.noted(r.Hub.Conversations().Pause(cmd.Session, cmd.Conversation, r.principal()))
}

// conversationResume lets it go on.
func (r queuer) conversationResume(cmd wire.ConversationResume) (answer, error) {
	if err := conversationName(cmd.Session, cmd.Conversation); err != nil {
		return answer{}, err
	}
	return r.noted(r.Hub.Conversations().GoOn(cmd.Session, cmd.Conversation, r.principal()))
}

// conversationName checks a conversation's two names, which may come from anywhere.
func conversationName(session wire.SessionID, id wire.ConversationID) error {
	const hint = "conversations are listed by: scv jobs list --json=job,conversation"
	if _, err := wire.ParseConversationID(string(id)); err != nil {
		return wire.Refuse(wire.ReasonInvalid, hint, "%v", err)
	}
	if !validSession(session) {
		return wire.Refuse(wire.ReasonInvalid, hint, "%.80q is not a session's name", string(session))
	}
	return nil
}
