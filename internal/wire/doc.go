// Package wire owns every noun, request, reply, event and error of protocol version 3: one Go type for each,
// used as it is by the hub, the server, the client and every surface, so that no noun has two shapes.
//
// Anyone may import it; it imports the standard library only. All of it is values and pure functions: it opens
// nothing, starts nothing and keeps no state but the cached plans of its decoder.
//
// Reading is strict, as the protocol demands (names are case sensitive, a required field must be there, null is
// refused where a field cannot be absent, a known name may come once); unknown fields are ignored, unknown words
// of an open enum read as unknown, and an event of an unknown type reads as UnknownEvent. Use DecodeClientMessage,
// DecodeServerEvent and Decode, not encoding/json, for anything that came from a peer. Writing is Encode, which
// adds the tag of a message (`type` or `action`) and leaves <, > and & alone.
//
// How a field is read and written stands in its tags. `need` holds the letter of the protocol's tables:
//
//	R (or no tag)  required, never null, always written
//	O              optional: absent or null read as nil (zero); left out when nil
//	N              nullable: as O, but written as null
//	D, D=word      has a default (zero, or the word) when missing; never null; always written
//	K              as D, but left out when it is the default
//
// Fields, actions and events marked "ours" are additions of this program; a peer that predates them ignores or
// refuses them as the protocol says, and the features of Initialized tell which are there.
package wire
