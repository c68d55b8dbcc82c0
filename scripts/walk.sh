#!/bin/sh
# A stranger's walk: from a fresh clone to the first approved job, each step timed. It needs git and Go, no agent and no
# account; the demo agent asks for the approval. Everything is made in a scratch folder and removed again.
#
#   scripts/walk.sh [REPOSITORY]        a path or address; this repository by default
set -eu
export LC_ALL=C
from=${1:-$(cd "$(dirname "$0")/.." && pwd)}
work=$(mktemp -d)
export SCV_HOME="$work/home"
scv=$work/scv/scv
trap '"$scv" stop --all >/dev/null 2>&1 || true; chmod -R u+w "$work"; rm -rf "$work"' EXIT

now() { date +%s%N; }
begin=$(now)
step() { # WHAT COMMAND...
	what=$1
	shift
	at=$(now)
	if ! "$@" >"$work/out" 2>&1; then
		echo "walk.sh: $what failed:" >&2
		cat "$work/out" >&2
		exit 1
	fi
	echo "$what	$((($(now) - at) / 1000000)) ms"
}

step "clone" git clone -q "$from" "$work/scv"
cd "$work/scv"
step "build" make build
mkdir "$work/project"
cd "$work/project"
step "which agents are there" "$scv" agents
step "what is missing here (doctor may object)" sh -c "'$scv' doctor || true"
step "first job: the demo agent, which asks before it writes" "$scv" jobs start --agent demo-live -q "@@say:I will write a file|edit:hello.txt|say:done"
until "$scv" approvals list -q 2>/dev/null | grep -q .; do :; done
echo "it waits for me	$((($(now) - begin) / 1000000)) ms since the beginning"
step "what it asks" "$scv" approvals show job-1
step "approve it" "$scv" approvals approve job-1
step "wait for its end" "$scv" jobs wait job-1
step "its reply" "$scv" jobs result job-1
grep -q done "$work/out" || { echo "walk.sh: the reply is not what the agent says" >&2; exit 1; }
echo "all	$((($(now) - begin) / 1000000)) ms"
