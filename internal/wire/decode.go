package wire

import (
	"reflect"
	"sync"
	"unicode/utf8"
)

// DecodeClientMessage reads one frame of a client. Any error is a DecodeError and is answered with
// CodeInvalidJSON and no request id, as the protocol wants; an unknown type or action is such an error.
func DecodeClientMessage(data []byte) (ClientMessage, error) {
	return decodeMessage(data, "type", func(d *decoder, tag string) (ClientMessage, error) {
		t, ok := clientTypes()[tag]
		if !ok {
			return nil, d.errorf("there is no message of the type %.40q", tag)
		}
		return decodeType[ClientMessage](d, t, "type")
	})
}

// DecodeServerEvent reads one frame of a daemon. An event of a type that is not known reads as UnknownEvent;
// a known one with a bad field is a DecodeError.
func DecodeServerEvent(data []byte) (ServerEvent, error) {
	return decodeMessage(data, "type", func(d *decoder, tag string) (ServerEvent, error) {
		t, ok := eventTypes()[tag]
		if !ok {
			return UnknownEvent{Type: tag}, d.skip()
		}
		return decodeType[ServerEvent](d, t, "type")
	})
}

// DecodeCommand reads the command of a daemon.control by itself.
func DecodeCommand(data []byte) (Command, error) {
	return decodeMessage(data, "action", decodeCommand)
}

// Decode reads a value of any type of this package but the interfaces, as strictly as a frame is read. What v
// points to must be the zero value.
func Decode[T any](data []byte, v *T) error {
	d := &decoder{data: data}
	return d.whole(reflect.ValueOf(v).Elem())
}

// whole reads a text that is one value.
func (d *decoder) whole(v reflect.Value) error {
	if !utf8.Valid(d.data) {
		return d.errorf("the text is not UTF-8")
	}
	if err := readerOf(v.Type())(d, v); err != nil {
		return err
	}
	return d.end()
}

func decodeMessage[I any](data []byte, tagName string, read func(*decoder, string) (I, error)) (I, error) {
	var none I
	d := &decoder{data: data}
	if !utf8.Valid(data) {
		return none, d.errorf("the text is not UTF-8")
	}
	tag, err := d.tag(tagName)
	if err != nil {
		return none, err
	}
	message, err := read(d, tag)
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return none, err
	}
	return message, nil
}

func decodeCommand(d *decoder, action string) (Command, error) {
	t, ok := commandTypes()[action]
	if !ok {
		return nil, d.errorf("there is no action %.40q", action)
	}
	return decodeType[Command](d, t, "action")
}

// tag returns the word of a member of the object that is next, which is then read again from its start.
func (d *decoder) tag(name string) (string, error) {
	ahead := *d
	tag, found := "", false
	err := ahead.findTag(name, &tag, &found)
	if found {
		return tag, nil
	}
	if err == nil {
		err = inside(ahead.errorf("it is missing"), name)
	}
	return "", err
}

// findTag stops with an error of no meaning once it has found what it looks for.
func (d *decoder) findTag(name string, tag *string, found *bool) error {
	return d.object(func(member []byte) error {
		if string(member) != name {
			return d.skip()
		}
		text, err := d.text()
		if err != nil {
			return inside(err, name)
		}
		*tag, *found = string(text), true
		return d.errorf("found")
	})
}

func decodeType[I any](d *decoder, t reflect.Type, tag string) (I, error) {
	v := reflect.New(t).Elem()
	if err := readObject(d, v, tag); err != nil {
		var none I
		return none, err
	}
	return v.Interface().(I), nil
}

func decodeAs[T any](d *decoder, tag string) (T, error) {
	var v T
	err := readObject(d, reflect.ValueOf(&v).Elem(), tag)
	return v, err
}

// clientTypes, eventTypes and commandTypes are tables of what the protocol has, made at their first use.
var (
	clientTypes = sync.OnceValue(func() map[string]reflect.Type {
		return tagged[ClientMessage](ClientMessage.MessageType, Initialize{}, DaemonControl{}, SessionStart{}, SessionAttach{},
			TurnStart{}, QueueUpdate{}, QueueMove{}, QueueRemove{}, SessionPause{}, TurnCancel{}, ApprovalResolve{},
			SessionClear{}, SessionPin{})
	})
	eventTypes = sync.OnceValue(func() map[string]reflect.Type {
		return tagged[ServerEvent](ServerEvent.EventType, Initialized{}, DaemonStatusEvent{}, SessionStarted{}, QueueSnapshot{},
			QueueEnqueued{}, QueueUpdated{}, QueueMoved{}, QueueRemoved{}, QueueDequeued{}, SessionPaused{},
			TurnStarted{}, AssistantDelta{}, AssistantCompleted{}, ToolProposed{}, ApprovalRequested{},
			ToolStarted{}, ToolProgress{}, ToolCompleted{}, ContextCompacted{}, SessionTrimmed{}, SessionCleared{},
			TurnCompleted{}, TurnCancelled{}, TurnFailed{}, BackgroundReported{}, BackgroundUpdated{}, ErrorEvent{},
			WatchPage{}, SessionPinned{})
	})
	commandTypes = sync.OnceValue(func() map[string]reflect.Type {
		return tagged[Command](Command.Action, StatusCommand{}, ReloadCommand{}, ChannelSet{}, ChannelLogout{},
			DelegationsCommand{}, DelegationKillCommand{}, RestartWhenIdle{}, ConfirmAsk{}, ConfirmStatus{},
			MailStatus{}, MailCancel{}, ProjectCreate{}, ProjectStatusCommand{}, ProjectEventsCommand{},
			ProjectTasksCommand{}, ProjectReportCommand{}, ProjectTaskAdd{}, ProjectTaskUpdate{}, ProjectRunStart{},
			ProjectRunProgress{}, ProjectRunFinish{}, ProjectHeartbeat{}, WorkbenchCommand{}, RunLogCommand{},
			JobResultCommand{}, WorktreesCommand{}, WorkbenchStart{}, WorkbenchSend{}, WorkbenchCancel{},
			ApprovalsPage{}, ApprovalRules{}, ApprovalRuleAdd{}, ApprovalRuleRemove{}, ApprovalTest{},
			WorkbenchApprove{}, WorkbenchResume{}, WorkbenchDismiss{}, WorktreeRemove{}, AttachCommand{}, AttachIO{},
			AttachDetach{}, AttachEnd{}, WorkbenchWatch{}, RunLogWatch{}, AttachWatch{}, AttachHistory{}, Why{}, DaemonStop{},
			JobsPage{}, DaemonRestart{}, JobPrompt{}, JobEdit{}, JobMove{}, ConversationPause{}, ConversationResume{}, AgentResume{},
			WorkbenchRetry{}, WorkbenchFork{}, WorktreePrune{}, WorktreeClean{}, WorktreeTrust{}, JobDiff{}, JobCommit{}, JobApply{}, ForecastCommand{},
			SessionsPage{}, SessionHistoryCommand{}, SessionRemove{},
			JobReview{}, ReviewDecide{})
	})
)

func tagged[I any](tag func(I) string, list ...I) map[string]reflect.Type {
	types := make(map[string]reflect.Type, len(list))
	for _, v := range list {
		types[tag(v)] = reflect.TypeOf(v)
	}
	return types
}
