package server

import (
	"errors"

	"scv/internal/wire"
)

// recode gives another room's refusal the code that this action's refusals have.
func recode(err error, code wire.ErrorCode) error {
	we, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return err
	}
	out := *we
	out.Code = code
	return &out
}
