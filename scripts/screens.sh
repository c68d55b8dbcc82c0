#!/bin/sh
# Makes the screens of README and docs from real runs: a throw-away home, the built-in demo agents, 80 columns, and the
# dashboard in tmux (left as it is without one). docs/screens gets one file each, and every page that shows one between
# <!-- screen NAME --> and <!-- end --> gets it anew.
#
#   scripts/screens.sh              writes docs/screens, README.md, README.zh-CN.md and docs/*.md
#   scripts/screens.sh DIR          writes the screens to DIR and touches no page
#   SCV=FILE scripts/screens.sh     with a program that is built already
set -eu
cd "$(dirname "$0")/.."
top=$(pwd)
out=${1:-$top/docs/screens}
work=$(mktemp -d /tmp/sXXXXXX)
owner=$HOME # whose caches the build uses
export SCV_HOME=$work/h TZ=UTC SCV_FORCE_TTY=80 NO_COLOR=1 HOME=$work
scv=${SCV:-$work/scv}
clean() {
	"$scv" stop --all >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap clean EXIT
[ -x "$scv" ] || HOME=$owner GOFLAGS= go build -o "$scv" ./cmd/scv
mkdir -p "$work/app" "$out"
cd "$work/app"

"$scv" jobs start -q --agent demo "Explain this project in three sentences" >/dev/null
"$scv" jobs start -q --agent demo "Run the tests; they fail" >/dev/null
"$scv" jobs start -q --agent demo-live "Clean up the build directory" >/dev/null
"$scv" jobs wait -q job-1 job-2 >/dev/null || true
"$scv" jobs wait -q --for awaiting_input job-3 >/dev/null || true
"$scv" jobs start -q --agent demo "Add a retry to the uploader" >/dev/null
"$scv" jobs wait -q --for working job-4 >/dev/null

tidy() { sed "s,$work/app,~/app,g; s,$work,~,g; s, *$,,"; }
shot() { # NAME COMMAND...
	name=$1
	shift
	line=
	for word in "$@"; do
		case $word in
		*' '*) line="$line \"$word\"" ;;
		*) line="$line $word" ;;
		esac
	done
	{
		printf '$ scv%s\n' "$line"
		"$scv" "$@" 2>&1 || true
	} | tidy >"$out/$name.txt"
}
shot jobs jobs
shot show jobs show job-1
until "$scv" jobs log job-2 --json=kind | grep -q run_ended; do sleep 0.1; done
shot log jobs log job-2
shot why why job-2
shot approval approvals show job-3
shot search search "make test" -n 2
shot status status --format '{need_you?{need_you} need you, }{working} working, {finished} ended'
shot usage usage

if command -v tmux >/dev/null 2>&1; then
	env -u SCV_FORCE_TTY tmux -L "scv$$" -f /dev/null new-session -d -x 100 -y 24 "$scv"
	tries=0
	until tmux -L "scv$$" capture-pane -p 2>/dev/null | grep -q 'job-4'; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || break
		sleep 0.1
	done
	tmux -L "scv$$" capture-pane -p | tidy >"$out/dashboard.txt"
	tmux -L "scv$$" kill-server
fi

[ $# -eq 0 ] || exit 0
cd "$top"
for page in README.md README.zh-CN.md docs/*.md; do
	awk -v dir="$out" '
	/^<!-- screen [a-z]+ -->$/ { print; print "```"; file = dir "/" $3 ".txt"; while ((getline line < file) > 0) print line; close(file); print "```"; skip = 1; next }
	/^<!-- end -->$/ { skip = 0 }
	!skip { print }
	' "$page" >"$work/page"
	cmp -s "$work/page" "$page" || cp "$work/page" "$page"
done
