# Mail for AI agents in plain files: one file, any POSIX shell, needs only coreutils, grep, sed and awk. Source it, or run it
# as a program, if the file name is mailbag.sh: sh mailbag.sh send bob 'which port?' type=question
#
#   mailbag_send TO BODY [FIELD=TEXT | FIELD:=JSON]...  sends a message, prints its id; BODY - is standard input
#   mailbag_reply FILE BODY [FIELD]...                  answers a message
#   mailbag_inbox                                       prints the unread files, one per line, oldest first
#   mailbag_each COMMAND [ARGUMENT]...                  runs it with each unread file, which is then read; ends if it fails
#   mailbag_done FILE                                   marks a message as read: moves it to seen/
#   mailbag_text FILE FIELD                             prints a text field of a message; mailbag_field prints it as JSON
#   mailbag_wait [SECONDS] [FIELD=TEXT]...              waits for the oldest unread matching file; polls every 200 ms
#   mailbag_ack FILE [STATUS]                           sets the status of a message
#   mailbag_broadcast_to_role ROLE TYPE SUBJECT BODY [FIELD]...   sends to all agents of a role; '' is your own role
#   mailbag_request_from_role ROLE SUBJECT BODY [SECONDS]         asks one of a role, prints the file of its answer
#   mailbag_share_artifact CATEGORY FILENAME CONTENT [TO] [NOTE]  writes and announces a file; CONTENT - is standard input
#   mailbag_drop FILE                                   writes a message file unchanged to the outbox; - is standard input
#   mailbag_parse_mentions                              prints the mentions in standard input, as `mailbag send --dry-run --json`
#   mailbag_route                                       delivers pending mail with the program
#
# Written by `mailbag generate helper shell`. A router (`mailbag run`) or any other `mailbag` command delivers the messages. Status: 1
# error, 2 usage, 3 not found, 4 timeout, 65 rejected or expired. Environment: MAILBAG_ROOM or MAOS_MESSAGE_DIR (default: .mailbag here
# or above), MAILBAG_AGENT or MAOS_AGENT_ID, MAOS_AGENT_ROLE, MAOS_SESSION_ID (for the metadata), MAOS_SHARED_CONTEXT.
# zsh does not split words and reports another file name: read and run the functions in its sh mode.
if [ -n "${ZSH_VERSION:-}" ] && [ "$(emulate)" != sh ]; then
    eval 'mailbag_file=${(%):-%x}'
    case $mailbag_file in */*) ;; *) mailbag_file=./$mailbag_file ;; esac
    case ${ZSH_EVAL_CONTEXT:-} in *:file*) mailbag_sourced=yes ;; esac
    emulate sh -c '. "$mailbag_file"'
    unset mailbag_file mailbag_sourced
    return
fi
# Every other function is a subshell, so that it has its own variables and may call exit.
mailbag_fail() { printf 'mailbag.sh: %s\n' "$2" >&2 && exit "$1"; }
mailbag_room() (
    room=${MAILBAG_ROOM:-${MAOS_MESSAGE_DIR:-}} at=$(pwd -P)
    while [ -z "$room" ] && [ -n "$at" ]; do
        [ ! -d "$at/.mailbag/outbox" ] || room=$at/.mailbag; at=${at%/*}
    done
    [ -n "$room" ] && [ -d "$room/outbox" ] && cd -- "$room" || mailbag_fail 3 \
        "no room at ${room:-.mailbag} or above; set MAILBAG_ROOM, or create one with \`mailbag init\`"
    # A link, or a room of another user, can be there to read your mail.
    [ -O . ] && problem= || problem='belongs to another user'
    [ ! -L "$room" ] || problem='is a symbolic link'
    [ -z "$problem" ] || [ -n "${MAILBAG_ROOM:-${MAOS_MESSAGE_DIR:-}}" ] ||
        mailbag_fail 1 "the room $room $problem; to use it, set MAILBAG_ROOM to $(pwd -P)"
    [ ! -e INCOMPLETE ] && [ ! -L INCOMPLETE ] || mailbag_fail 1 "the room $room is an incomplete copy: it has the file INCOMPLETE; use a complete copy"
    pwd -P
)
mailbag_me() (
    me=${MAILBAG_AGENT:-${MAOS_AGENT_ID:?set MAILBAG_AGENT to your agent id}} room=$(mailbag_room) || exit
    case $me in .* | */*) mailbag_fail 2 "$me is not a valid agent id" ;; esac
    [ -d "$room/outbox/$me" ] || me=$(ls "$room/outbox" | grep -ixF -- "$me" || printf '%s' "$me")
    [ -d "$room/outbox/$me" ] && printf '%s\n' "$me" || mailbag_fail 3 "no agent $me in $room; register it: \`mailbag agent add $me\`"
)
# A UUID v7, so that later ids sort later: the millisecond, below it 4096 steps, then random digits.
mailbag_new_id() (
    random=$(od -An -v -N8 -tx1 /dev/urandom | tr -d ' \n') nanos=$(date +%s%N) || exit
    # Some systems give seconds only. Then the step is the number of messages in the outbox.
    set -- "$(mailbag_room)/outbox/$(mailbag_me)"/*
    case $nanos in *[!0-9]*) nanos=$(($(date +%s) * 1000000000 + $# * 245)) ;; esac
    time=$(printf %012x "$((nanos / 1000000))") step=$((nanos % 1000000 * 4096 / 1000000))
    printf '%s-%s-7%03x-8%.3s-%.12s\n' "${time%????}" "${time#????????}" "$step" "$random" "${random#???}"
)
# Converts standard input to a JSON string, byte by byte, to be independent of the locale and of echo.
mailbag_json() (
    printf '"'
    od -An -v -tu1 | awk '{
        for (i = 1; i <= NF; i++)
            printf $i < 32 ? "\\134u%04x" : $i == 34 || $i == 92 ? "\\134\\%03o" : "\\%03o", $i
        print ""
    }' | while read -r out; do printf "$out"; done
    printf '"'
)
# Converts a JSON string of the router to text. It escapes only control characters, " and \.
mailbag_unjson() (
    LC_ALL=C awk '{
        text = substr($0, 2, length($0) - 2)
        code["b"] = 8; code["t"] = 9; code["n"] = 10; code["f"] = 12; code["r"] = 13
        while (at = index(text, "\\")) {
            letter = substr(text, at + 1, 1)
            low = index("0123456789abcdef", tolower(substr(text, at + 5, 1))) - 1
            printf "%s", substr(text, 1, at - 1)
            if (letter == "u") printf "%c", substr(text, at + 4, 1) * 16 + low
            else if (letter in code) printf "%c", code[letter]
            else printf "%s", letter
            text = substr(text, at + (letter == "u" ? 6 : 2))
        }
        printf "%s", text
    }'
)
mailbag_drop() (
    me=$(mailbag_me) && outbox=$(mailbag_room)/outbox/$me && name=$(mailbag_new_id) && draft=$outbox/.$name.tmp || exit
    trap 'rm -f -- "$draft"' EXIT
    cat -- "${1:--}" >"$draft" || exit
    sync -- "$draft" 2>/dev/null || sync
    mv -- "$draft" "$outbox/$name.json" || exit
    sync -- "$outbox" 2>/dev/null || sync
    printf '%s\n' "$outbox/$name.json"
)
mailbag_send() (
    body=$2 id=$(mailbag_new_id) && me=$(mailbag_me) || exit
    to=$(set -f && for address in $1; do printf ', ' && printf %s "$address" | mailbag_json; done)
    shift 2
    for field in "$@"; do case $field in id=*) id=${field#id=} ;; esac; done
    set -- "$@" type=message from="$me"
    [ -z "$to" ] || set -- "to:=[${to#, }]" "$@"
    case $body in '') ;; -) set -- "body:=$(mailbag_json)" "$@" ;; *) set -- "body=$body" "$@" ;; esac
    [ -z "${MAOS_SESSION_ID:-}" ] || set -- "$@" "metadata:={\"session_id\": $(printf %s "$MAOS_SESSION_ID" | mailbag_json)}"
    message=$(mailbag_compose id="$id" "$@") && printf '%s\n' "$message" | mailbag_drop >/dev/null && printf '%s\n' "$id"
)
# Prints a message with these fields. If several have the same name, the first one counts.
mailbag_compose() (
    names=' ' between='{'
    for field in "$@"; do
        name=${field%%=*}
        case ${name%:} in '' | *[!A-Za-z0-9_.-]*) mailbag_fail 2 "invalid field $field; use FIELD=TEXT or FIELD:=JSON" ;; esac
        case $names in *" ${name%:} "*) continue ;; esac
        names="$names${name%:} "
        printf '%s\n  "%s": ' "$between" "${name%:}" && between=,
        case $name in *:) printf %s "${field#*=}" ;; *) printf %s "${field#*=}" | mailbag_json ;; esac
    done
    printf '\n}\n'
)
# The router and the helpers write one field per line, indented by two blanks. Line breaks in text are escaped.
mailbag_field() (
    line=$(LC_ALL=C grep -m1 "^  \"$2\": " "$1" 2>/dev/null) || exit
    line=${line#*: } && printf '%s\n' "${line%,}"
)
mailbag_text() ( value=$(mailbag_field "$1" "$2") && [ "$value" != "${value#\"}" ] && printf %s "$value" | mailbag_unjson )
mailbag_inbox() (
    LC_ALL=C
    me=$(mailbag_me) && inbox=$(mailbag_room)/inbox/$me || exit
    for file in "$inbox"/*.json; do
        [ -e "$file" ] || [ -L "$file" ] || continue
        case ${file##*/} in *[!A-Za-z0-9._~-]*) ;; *)
            [ -f "$file" ] && [ ! -L "$file" ] && mailbag_field "$file" from >/dev/null && printf '%s\n' "$file" && continue ;;
        esac
        printf 'mailbag.sh: skipped %s: not written by the router\n' "$(printf %s "${file##*/}" | mailbag_json)" >&2
    done
)
mailbag_done() ( [ ! -e "$1" ] || { mkdir -p -- "${1%/*}/seen" && mv -- "$1" "${1%/*}/seen/"; } )
mailbag_each() (
    list=$(mailbag_inbox) || exit
    while IFS= read -r file <&3; do
        [ ! -e "$file" ] || { "$@" "$file" 3<&- && mailbag_done "$file"; } || exit
    done 3<<EOF
$list
EOF
)
# Validates a number of seconds. Shell arithmetic evaluates any text, and a leading zero means octal.
mailbag_seconds() (
    number=$1
    case $number in '' | *[!0-9]*) mailbag_fail 2 "$number is not a number of seconds" ;; esac
    while [ "$number" != "${number#0}" ] && [ "$number" != 0 ]; do number=${number#0}; done && printf '%.9s\n' "$number"
)
mailbag_wait() (
    case ${1:-} in [0-9]*) ;; *) set -- 999999999 "$@" ;; esac
    seconds=$(mailbag_seconds "$1") && shift && mailbag_poll "$seconds" mailbag_fits "$@"
)
mailbag_fits() ( for field in "$@"; do [ "$(mailbag_text "$file" "${field%%=*}")" = "${field#*=}" ] || exit; done )
# Prints the first unread $file that a command accepts, or fails after this number of seconds.
mailbag_poll() (
    until=$(($(date +%s) + $1)) && shift
    while :; do
        list=$(mailbag_inbox) || exit
        while IFS= read -r file; do
            [ -n "$file" ] && "$@" && printf '%s\n' "$file" && exit
        done <<EOF
$list
EOF
        [ "$(date +%s)" -lt "$until" ] || mailbag_fail 4 "no matching message in time"
        sleep 0.2
    done
)
mailbag_reply() (
    file=$1 body=$2 kind=message && shift 2
    from=$(mailbag_text "$file" from) && id=$(mailbag_text "$file" id) || mailbag_fail 3 "$file is not a message"
    case $(mailbag_text "$file" type):$(mailbag_field "$file" requires_response) in question:* | *:true) kind=answer ;; esac
    subject=$(mailbag_text "$file" subject | sed '1s/^\( *[Rr][Ee]:\)* *//')
    thread=$(mailbag_text "$file" thread_id) || thread=$id
    set -- "$@" type="$kind" in_reply_to="$from/$id" thread_id="$thread"
    [ -z "$subject" ] || [ ${#subject} -gt 990 ] || set -- "$@" subject="Re: $subject"
    channel=$(mailbag_text "$file" channel) && set -- "$@" channel="$channel"
    mailbag_send "$from" "$body" "$@"
)
mailbag_ack() (
    from=$(mailbag_text "$1" from) && id=$(mailbag_text "$1" id) || mailbag_fail 3 "$1 is not a message"
    mailbag_send '' '' type=ack "refs:=[\"$from/$id\"]" status="${2:-acknowledged}"
)
mailbag_broadcast_to_role() (
    role=${1:-${MAOS_AGENT_ROLE:?pass a role or set this variable}} type=$2 subject=$3 body=$4 && shift 4
    mailbag_send "all_$role" "$body" type="$type" subject="$subject" "$@"
)
mailbag_request_from_role() (
    seconds=$(mailbag_seconds "${4:-300}") && me=$(mailbag_me) || exit
    role=${1:-${MAOS_AGENT_ROLE:?pass a role or set this variable}}
    id=$(mailbag_send "any_$role" "$3" type=request subject="$2" requires_response:=true) || exit
    file=$(mailbag_poll "$seconds" mailbag_answers) || exit
    printf '%s\n' "$file"
    [ "$(mailbag_text "$file" from)" != mailbag ] || mailbag_fail 65 "$(mailbag_text "$file" body)"
)
mailbag_answers() (
    set -f && names=$(mailbag_field "$file" in_reply_to | tr -d '"')
    case $(mailbag_text "$file" from):$(mailbag_text "$file" type) in
        mailbag:error | mailbag:notification | mailbag:alert) ;;
        mailbag:* | *:ack | *:status | *:progress | *:thinking | *:tool_call | *:tool_result) exit 1 ;;
        *) names="$names $(mailbag_text "$file" thread_id) $(LC_ALL=C sed -n '/^  "refs": \[$/,/^  ]/s/^    "\{0,1\}\([^" ,]*\).*/\1/p' "$file")" ;; esac
    for name in $names; do
        # A reference can be a record number, which is in the name of the router's copy in sent/.
        case $name in "$id" | "$me/$id") exit 0 ;; *[!0-9]*) ;; *) set +f; grep -qs "^  \"id\": \"$id\"" "$(mailbag_room)/sent/$me/$name~"*.json && exit ;; esac
    done; exit 1
)
mailbag_context() (
    room=$(mailbag_room) && cd -- "$room" || exit
    line=$(sed -n 's/^[[:blank:]]*context[[:blank:]]*=/=/p' settings.toml 2>/dev/null)
    path=$(printf %s "${line:-=\"context\"}" | sed -n "s/^=[[:blank:]]*[\"']\([^\"'\\\\]*\)[\"'].*/\1/p")
    path=${MAOS_SHARED_CONTEXT:-$path}
    [ -n "$path" ] || mailbag_fail 1 "cannot parse context in $room/settings.toml; set MAOS_SHARED_CONTEXT"
    case $path in /*) printf '%s\n' "$path" ;; *) printf '%s\n' "$room/$path" ;; esac
)
# Prints the path below the context, the digest and the id of the announcement, one per line.
mailbag_share_artifact() (
    case $1 in '' | [!A-Za-z0-9]* | *[!A-Za-z0-9._-]*) mailbag_fail 2 "$1 is not a valid category, such as research" ;; esac
    case $2 in '' | . | .. | */*) mailbag_fail 2 "cannot share $2: it is not a file name" ;; esac
    directory=$(mailbag_context)/$1 kept=$2 number=1 type=application/octet-stream || exit
    [ ! -L "$directory" ] && mkdir -p -- "$directory" || mailbag_fail 1 "cannot share into $directory: it is a symbolic link"
    draft=$directory/.tmp-$(mailbag_new_id) && trap 'rm -f -- "$draft"' EXIT
    case $3 in -) cat ;; *) printf %s "$3" ;; esac >"$draft" || exit
    sync -- "$draft" 2>/dev/null || sync
    digest=$({ sha256sum 2>/dev/null || shasum -a 256; } <"$draft") && digest=${digest%% *} || exit
    # A hard link never overwrites a file.
    until [ ! -d "$directory/$kept" ] && ln -- "$draft" "$directory/$kept" 2>/dev/null; do
        [ ! -L "$directory/$kept" ] && [ -f "$directory/$kept" ] && cmp -s -- "$draft" "$directory/$kept" && break
        [ -e "$directory/$kept" ] || [ -L "$directory/$kept" ] || mailbag_fail 1 "cannot write $kept to $directory"
        number=$((number + 1))
        case $2 in ?*.*) kept="${2%.*}-$number.${2##*.}" ;; *) kept="$2-$number" ;; esac
    done
    sync -- "$directory" 2>/dev/null || sync
    case $2 in *.md) type=text/markdown ;; *.txt | *.log) type=text/plain ;; *.json) type=application/json ;; esac
    path=$(printf %s "$1/$kept" | mailbag_json)
    id=$(mailbag_send "${4:-all}" "${5:-}" type=announcement subject="$1: $2" "metadata:={\"category\": \"$1\"}" \
        "attachments:=[{\"path\": $path, \"sha256\": \"$digest\", \"media_type\": \"$type\"}]") || exit
    printf '%s\n' "$1/$kept" "$digest" "$id"
)
mailbag_program() ( command -v mailbag >/dev/null || mailbag_fail 1 "the program mailbag is not on PATH; put it there, or leave this to a router: mailbag run" )
mailbag_parse_mentions() ( mailbag_program && printf '{"type": "status", "subject": "-", "body": %s}' "$(mailbag_json)" | mailbag send --dry-run --json --file - )
mailbag_route() ( mailbag_program && room=$(mailbag_room) && mailbag --room "$room" run --once -q >/dev/null )
if [ "${0##*/}" = mailbag.sh ] && [ -z "${mailbag_sourced:-}" ]; then
    command -v "mailbag_${1:-}" >/dev/null || mailbag_fail 2 "usage: mailbag.sh send|reply|… as at the top of this file"
    mailbag_command=mailbag_$1 && shift && "$mailbag_command" "$@"; exit
fi
