# Mail for AI agents in plain files: one file, any POSIX shell, needs only coreutils (and awk for mentions).
#
#   . ./mailbag.sh
#   mailbag_send bob 'which port?' type=question
#   mailbag_each my_handler                # runs `my_handler FILE` for each message, oldest first
#   mailbag_reply FILE 8080
#
# or as a program, if the file name is mailbag.sh: sh mailbag.sh send bob 'which port?' type=question
#
# Written by `mailbag helper shell`. It only reads and writes files. A router (`mailbag run`) or any other `mailbag`
# command delivers the messages; `mailbag_route` runs such a command.
#
#   mailbag_send TO BODY [FIELD=TEXT | FIELD:=JSON]...    sends a message, prints its id; TO is one word: addresses
#                                                         separated by blanks, '' for none; BODY - is standard input
#   mailbag_reply FILE BODY [FIELD…]                      answers a message
#   mailbag_inbox                                         the unread files, one per line, oldest first
#   mailbag_each COMMAND [ARGUMENT]...                    runs COMMAND ARGUMENT... FILE for each unread file
#   mailbag_done FILE                                     marks a message as read: moves it to seen/
#   mailbag_text FILE FIELD                               a text field of a message, such as body, as text
#   mailbag_field FILE FIELD                              a field as JSON; not for lists and objects
#   mailbag_wait [SECONDS] [--program] [FIELD=TEXT]...    waits for the oldest unread matching file; polls every 200 ms;
#                                                         --program runs `mailbag wait`, which also delivers mail
#   mailbag_ack FILE [STATUS]                             acknowledged, actioned, resolved, superseded, abandoned
#   mailbag_share_artifact CATEGORY FILENAME CONTENT [TO] [NOTE]
#                                                         writes a file into the room's context and announces it; CONTENT
#                                                         - is standard input
#   mailbag_share_file FILE CATEGORY [TO] [NOTE]          copies a file into the room's context and announces it
#   mailbag_broadcast_to_role ROLE TYPE SUBJECT BODY [FIELD…]
#                                                         sends to all agents of a role
#   mailbag_request_from_role ROLE SUBJECT BODY [SECONDS] asks one agent of a role, prints the file of its answer
#   mailbag_drop FILE                                     writes a message file to the outbox unchanged, prints its
#                                                         path; - is standard input
#   mailbag_mentions BODY                                 the mentions in a body, as @name or @tag:name, one per line
#   mailbag_without_mentions BODY                         the body without mentions
#   mailbag_is_broadcast BODY                             succeeds if the mentions make a message without TO a broadcast;
#                                                         these three equal `mailbag check --json` and need awk; BODY -
#                                                         is standard input
#   mailbag_route                                         delivers pending mail with the program
#
# A message is marked as read when the COMMAND of mailbag_each succeeds, or by mailbag_done. If the command fails, the
# loop ends with its status, and the message stays unread. Files in the inbox that the router did not write are skipped
# with a warning. ROLE '' means your own role, MAOS_AGENT_ROLE.
#
# Status: 0 success, 1 error, 2 usage, 3 not found, 4 timeout, 65 rejected by the router (the file is printed).
#
# Environment: MAILBAG_ROOM or MAOS_MESSAGE_DIR is the room, by default .mailbag in this directory or a parent;
# MAILBAG_AGENT or MAOS_AGENT_ID is your agent id; MAOS_AGENT_ROLE is your role; MAOS_SESSION_ID is added to the metadata
# of your messages as session_id, unless you pass metadata; MAOS_SHARED_CONTEXT is the directory of shared files, by
# default that of the room's settings.

# zsh does not split words and reports another file name: read and run the functions in its sh mode.
if [ -n "${ZSH_VERSION:-}" ] && [ "$(emulate)" != sh ]; then
    eval 'mailbag_file=${(%):-%x}'
    case $mailbag_file in */*) ;; *) mailbag_file=./$mailbag_file ;; esac
    # In zsh, $0 does not tell whether the file is sourced.
    case ${ZSH_EVAL_CONTEXT:-} in *:file*) mailbag_sourced=yes ;; esac
    emulate sh -c '. "$mailbag_file"'
    unset mailbag_file mailbag_sourced
    return
fi

# Every function is a subshell, so that it has its own variables and may call exit.

mailbag_fail() {
    printf 'mailbag.sh: %s\n' "$2" >&2
    exit "$1"
}

mailbag_room() (
    room=${MAILBAG_ROOM:-${MAOS_MESSAGE_DIR:-}}
    if [ -n "$room" ]; then
        [ -d "$room/outbox" ] || mailbag_fail 3 "no room at $room; create one with \`mailbag init\`"
        cd -- "$room" && pwd -P
        exit
    fi
    at=$(pwd -P)
    while :; do
        main=$(mailbag_main_worktree "$at")
        for base in "$main" "$at"; do
            [ -n "$base" ] && [ -d "${base%/}/.mailbag/spool" ] || continue
            # Another user may have created the room to read your mail.
            [ -O "${base%/}/.mailbag" ] ||
                mailbag_fail 1 "the room ${base%/}/.mailbag belongs to another user; to use it, set MAILBAG_ROOM to it"
            printf '%s\n' "${base%/}/.mailbag"
            exit
        done
        [ "$at" != / ] || break
        at=${at%/*}
        at=${at:-/}
    done
    mailbag_fail 3 "no room: no .mailbag in this directory or its parents; create one with \`mailbag init\`"
)

# The main worktree: all worktrees of a repository share its room.
mailbag_main_worktree() (
    [ -f "$1/.git" ] && IFS= read -r line <"$1/.git" || exit 0
    case $line in "gitdir: "*) ;; *) exit 0 ;; esac
    cd -- "$1" && cd -- "${line#gitdir: }" 2>/dev/null && IFS= read -r common <commondir &&
        cd -- "$common" 2>/dev/null && cd .. && pwd -P
    exit 0
)

mailbag_me() (
    LC_ALL=C
    me=${MAILBAG_AGENT:-${MAOS_AGENT_ID:-}}
    [ -n "$me" ] || mailbag_fail 2 "no agent name given; set MAILBAG_AGENT"
    case $me in
    [!A-Za-z0-9]* | *[!A-Za-z0-9._-]*) mailbag_fail 2 "$me is not a valid agent id" ;;
    esac
    printf '%s\n' "$me"
)

# The outbox. Every registered agent has one.
mailbag_outbox() (
    room=$(mailbag_room) && me=$(mailbag_me) || exit
    [ -d "$room/outbox/$me" ] ||
        mailbag_fail 3 "$me has no outbox in $room; register the agent with \`mailbag agent add $me\`"
    printf '%s\n' "$room/outbox/$me"
)

# A UUID v7, so that later ids sort later: the millisecond, below it 4096 steps, then random digits.
mailbag_new_id() (
    random=$(od -An -v -N8 -tx1 /dev/urandom | tr -d ' \n') || exit
    nanos=$(date +%s%N)
    case $nanos in
    *[!0-9]*)
        # This system gives seconds only. The step is the one after the last message of this second in the outbox.
        time=$(printf %012x "$(($(date +%s) * 1000))") step=0
        for there in "$(mailbag_outbox)/${time%????}-${time#????????}-7"*; do
            there=${there##*/*-7} there=${there%%-*}
            case $there in
            [0-9a-f][0-9a-f][0-9a-f]) step=$((0x$there + 1)) ;;
            esac
        done
        ;;
    *)
        time=$(printf %012x "$((nanos / 1000000))")
        step=$((nanos % 1000000 * 4096 / 1000000))
        ;;
    esac
    printf '%s-%s-7%03x-8%.3s-%.12s\n' "${time%????}" "${time#????????}" "$step" "$random" "${random#???}"
)

# Converts standard input to a JSON string, byte by byte through od, to be independent of the locale and of echo.
mailbag_json() (
    printf '"'
    od -An -v -to1 | while read -r line; do
        out=
        for byte in $line; do
            case $byte in
            042) out="$out\\134\\042" ;;
            134) out="$out\\134\\134" ;;
            012) out="$out\\134n" ;;
            015) out="$out\\134r" ;;
            011) out="$out\\134t" ;;
            00?) out="$out\\134u000${byte#00}" ;;
            010) out="$out\\134u0008" ;;
            013) out="$out\\134u000b" ;;
            014) out="$out\\134u000c" ;;
            016) out="$out\\134u000e" ;;
            017) out="$out\\134u000f" ;;
            02?) out="$out\\134u001${byte#02}" ;;
            03[01]) out="$out\\134u001$((8 + ${byte#03}))" ;;
            032) out="$out\\134u001a" ;;
            033) out="$out\\134u001b" ;;
            034) out="$out\\134u001c" ;;
            035) out="$out\\134u001d" ;;
            036) out="$out\\134u001e" ;;
            037) out="$out\\134u001f" ;;
            *) out="$out\\$byte" ;;
            esac
        done
        printf "$out"
    done
    printf '"'
)

# Converts a JSON string on standard input to text.
mailbag_unjson() (
    od -An -v -tu1 | {
        state=begin hex= high=0
        while read -r line; do
            out=
            for byte in $line; do
                case $state$byte in
                begin*) state=text ;;
                text92) state=escape ;;
                text34) state=end ;;
                text*) mailbag_byte "$byte" ;;
                escape117) state=hex hex= ;;
                escape*)
                    state=text
                    case $byte in
                    98) byte=8 ;; 102) byte=12 ;; 110) byte=10 ;; 114) byte=13 ;; 116) byte=9 ;;
                    esac
                    mailbag_byte "$byte"
                    ;;
                hex*)
                    [ "$byte" -ge 97 ] && byte=$((byte - 32))
                    if [ "$byte" -ge 65 ]; then byte=$((byte - 55)); else byte=$((byte - 48)); fi
                    hex="$hex $byte"
                    case $hex in
                    " "*" "*" "*" "*)
                        state=text
                        mailbag_unit $hex
                        ;;
                    esac
                    ;;
                esac
            done
            printf "$out"
        done
    }
)

# These two use the variables of mailbag_unjson, so they are not subshells.
mailbag_byte() {
    out="$out\\$((($1 / 64) % 4))$((($1 / 8) % 8))$(($1 % 8))"
}

mailbag_unit() {
    unit=$((($1 * 16 + $2) * 256 + $3 * 16 + $4))
    if [ "$unit" -ge 55296 ] && [ "$unit" -le 56319 ]; then
        high=$((unit - 55296))
        return
    fi
    if [ "$unit" -ge 56320 ] && [ "$unit" -le 57343 ]; then
        unit=$((65536 + high * 1024 + unit - 56320))
    fi
    if [ "$unit" -lt 128 ]; then
        mailbag_byte "$unit"
    elif [ "$unit" -lt 2048 ]; then
        mailbag_byte $((192 + unit / 64))
        mailbag_byte $((128 + unit % 64))
    elif [ "$unit" -lt 65536 ]; then
        mailbag_byte $((224 + unit / 4096))
        mailbag_byte $((128 + unit / 64 % 64))
        mailbag_byte $((128 + unit % 64))
    else
        mailbag_byte $((240 + unit / 262144))
        mailbag_byte $((128 + unit / 4096 % 64))
        mailbag_byte $((128 + unit / 64 % 64))
        mailbag_byte $((128 + unit % 64))
    fi
}

mailbag_drop() (
    outbox=$(mailbag_outbox) || exit
    name=$(mailbag_new_id) && draft="$outbox/.$name.tmp"
    trap 'rm -f -- "$draft"' EXIT
    # cat also reads - and pipes.
    cat -- "${1:--}" >"$draft" || exit
    sync -- "$draft" 2>/dev/null || sync
    mv -- "$draft" "$outbox/$name.json" || exit
    sync -- "$outbox" 2>/dev/null || sync
    printf '%s\n' "$outbox/$name.json"
)

mailbag_send() (
    LC_ALL=C
    [ $# -ge 2 ] || mailbag_fail 2 "usage: mailbag_send TO BODY [FIELD=TEXT | FIELD:=JSON]..."
    outbox=$(mailbag_outbox) || exit
    to=$1 body=$2 id=$(mailbag_new_id) names=' '
    shift 2
    for field in "$@"; do
        name=${field%%=*}
        name=${name%:}
        case $name in
        '' | *[!A-Za-z0-9_.-]*) mailbag_fail 2 "invalid field $field; use FIELD=TEXT or FIELD:=JSON" ;;
        id) id=${field#*=} ;;
        esac
        names="$names$name "
    done
    draft="$outbox/.$(mailbag_new_id).tmp"
    trap 'rm -f -- "$draft"' EXIT
    mailbag_compose "$@" >"$draft" || exit
    sync -- "$draft" 2>/dev/null || sync
    mv -- "$draft" "$outbox/$(mailbag_new_id).json" || exit
    sync -- "$outbox" 2>/dev/null || sync
    printf '%s\n' "$id"
)

# Uses the variables of mailbag_send.
mailbag_compose() (
    printf '{"id": %s, "from": "%s"' "$(printf %s "$id" | mailbag_json)" "$(mailbag_me)"
    case $names in *" type "*) ;; *) printf ', "type": "message"' ;; esac
    set -f
    if [ -n "$to" ]; then
        between=
        printf ', "to": ['
        for address in $to; do
            printf '%s' "$between"
            printf %s "$address" | mailbag_json
            between=', '
        done
        printf ']'
    fi
    case $body in
    '') ;;
    -) printf ', "body": ' && mailbag_json ;;
    *) printf ', "body": ' && printf %s "$body" | mailbag_json ;;
    esac
    case $names in
    *" metadata "*) ;;
    *)
        if [ -n "${MAOS_SESSION_ID:-}" ]; then
            printf ', "metadata": {"session_id": %s}' "$(printf %s "$MAOS_SESSION_ID" | mailbag_json)"
        fi
        ;;
    esac
    for field in "$@"; do
        name=${field%%=*}
        value=${field#*=}
        case $name in
        id) ;;
        *:) printf ', "%s": %s' "${name%:}" "$value" ;;
        *) printf ', "%s": ' "$name" && printf %s "$value" | mailbag_json ;;
        esac
    done
    printf '}\n'
)

# The router writes one field per line, indented by two blanks. Line breaks in text are escaped.
mailbag_field() (
    while IFS= read -r line; do
        case $line in
        "  \"$2\": "*)
            value=${line#"  \"$2\": "}
            printf '%s\n' "${value%,}"
            exit
            ;;
        esac
    done <"$1"
    exit 1
)

mailbag_text() (
    value=$(mailbag_field "$1" "$2") || exit
    case $value in
    '"'*) printf %s "$value" | mailbag_unjson ;;
    *) exit 1 ;;
    esac
)

mailbag_inbox() (
    LC_ALL=C
    room=$(mailbag_room) && me=$(mailbag_me) || exit
    for file in "$room/inbox/$me"/*.json; do
        [ -e "$file" ] || [ -L "$file" ] || continue
        if mailbag_is_mail "$file"; then
            printf '%s\n' "$file"
        elif [ -e "$file" ] || [ -L "$file" ]; then
            name=$(printf %s "${file##*/}" | mailbag_json)
            printf 'mailbag.sh: skipped %s: not written by the router\n' "$name" >&2
        fi
    done
)

# Whether the router wrote a file: it begins and ends with a brace and has a sender.
mailbag_is_mail() (
    case ${1##*/} in *'
'*) exit 1 ;; esac
    [ -f "$1" ] && [ ! -L "$1" ] || exit 1
    IFS= read -r line <"$1" 2>/dev/null && [ "$line" = '{' ] || exit 1
    [ "$(tail -c 2 -- "$1" | tr -d '\n')" = '}' ] || exit 1
    mailbag_field "$1" from >/dev/null && mailbag_field "$1" id >/dev/null
)

mailbag_done() (
    mkdir -p -- "${1%/*}/seen" || exit
    [ -e "$1" ] || exit 0
    mv -- "$1" "${1%/*}/seen/"
)

mailbag_each() (
    [ $# -ge 1 ] || mailbag_fail 2 "usage: mailbag_each COMMAND [ARGUMENT]..."
    # The list is complete before the loop starts and has its own descriptor: the command may read standard input and send.
    list=$(mailbag_inbox) || exit
    [ -n "$list" ] || exit 0
    while IFS= read -r file <&3; do
        [ -e "$file" ] || continue
        "$@" "$file" 3<&- || exit
        mailbag_done "$file" || exit
    done 3<<EOF
$list
EOF
)

# Validates a number of seconds. Shell arithmetic evaluates any text, and a leading zero means octal.
mailbag_seconds() (
    number=$1
    case $number in '' | *[!0-9]*) mailbag_fail 2 "$number is not a number of seconds" ;; esac
    while [ "$number" != "${number#0}" ] && [ "$number" != 0 ]; do number=${number#0}; done
    [ ${#number} -le 9 ] || number=999999999
    printf '%s\n' "$number"
)

mailbag_wait() (
    seconds=${1:-} program=
    case $seconds in
    '' | *[!0-9]*) seconds= ;;
    *) shift && seconds=$(mailbag_seconds "$seconds") || exit ;;
    esac
    if [ "${1:-}" = --program ]; then
        program=yes
        shift
    fi
    room=$(mailbag_room) && me=$(mailbag_me) || exit
    until=$(($(date +%s) + ${seconds:-0}))
    while :; do
        list=$(mailbag_inbox) || exit
        while IFS= read -r file; do
            if [ -n "$file" ] && mailbag_fits "$file" "$@"; then
                printf '%s\n' "$file"
                exit
            fi
        done <<EOF
$list
EOF
        left=$((until - $(date +%s)))
        if [ -n "$seconds" ] && [ "$left" -le 0 ]; then
            mailbag_fail 4 "no matching message for $me within $seconds s"
        fi
        if [ -n "$program" ] && [ $# -gt 0 ]; then
            # The program cannot filter by any field: it delivers mail, and this loop filters.
            mailbag_route && sleep 0.2
        elif [ -n "$program" ]; then
            status=0
            span=${left}s
            [ -n "$seconds" ] || span=1h
            mailbag --room "$room" wait --as "$me" --timeout "$span" -q >/dev/null || status=$?
            [ "$status" = 0 ] || [ "$status" = 4 ] || exit "$status"
        else
            sleep 0.2
        fi
    done
)

mailbag_fits() (
    file=$1
    shift
    for field in "$@"; do
        [ "$(mailbag_text "$file" "${field%%=*}" 2>/dev/null)" = "${field#*=}" ] || exit 1
    done
)

mailbag_reply() (
    [ $# -ge 2 ] || mailbag_fail 2 "usage: mailbag_reply FILE BODY [FIELD]..."
    file=$1 body=$2
    shift 2
    mailbag_is_mail "$file" || mailbag_fail 3 "$file is not a message"
    from=$(mailbag_text "$file" from) id=$(mailbag_text "$file" id)
    [ "$from" != mailbag ] || mailbag_fail 2 "cannot reply to $file: the router wrote it and reads no mail"
    given=" "
    for field in "$@"; do
        name=${field%%=*}
        given="$given${name%:} "
    done
    # Prepend each default, unless the caller passed the field.
    mailbag_lacks() { case $given in *" $1 "*) return 1 ;; esac; }
    if mailbag_lacks thread_id; then
        thread=$(mailbag_text "$file" thread_id) || thread=$id
        set -- thread_id="$thread" "$@"
    fi
    if mailbag_lacks channel && channel=$(mailbag_text "$file" channel); then
        set -- channel="$channel" "$@"
    fi
    if mailbag_lacks subject && subject=$(mailbag_text "$file" subject); then
        while :; do
            case $subject in
            ' '*) subject=${subject# } ;;
            [Rr][Ee]:*) subject=${subject#???} ;;
            *) break ;;
            esac
        done
        # The prefix must not exceed the maximum length of a subject.
        [ ${#subject} -gt 990 ] || subject="Re: $subject"
        set -- subject="$subject" "$@"
    fi
    if mailbag_lacks type; then
        kind=message
        [ "$(mailbag_text "$file" type)" != question ] || kind=answer
        [ "$(mailbag_field "$file" requires_response)" != true ] || kind=answer
        set -- type="$kind" "$@"
    fi
    mailbag_lacks in_reply_to && set -- in_reply_to="$from/$id" "$@"
    mailbag_send "$from" "$body" "$@"
)

mailbag_ack() (
    mailbag_is_mail "$1" || mailbag_fail 3 "$1 is not a message"
    reference="$(mailbag_text "$1" from)/$(mailbag_text "$1" id)"
    mailbag_send '' '' type=ack "refs:=[\"$reference\"]" status="${2:-acknowledged}"
)

mailbag_mentions() (
    mailbag_spoken mentions "$1"
)

mailbag_without_mentions() (
    mailbag_spoken text "$1" | while read -r out; do printf "$out"; done
)

mailbag_is_broadcast() (
    mailbag_spoken mentions "$1" | {
        while IFS= read -r name; do
            case $name in
            @[Aa][Ll][Ll] | @[Cc][Hh][Aa][Nn][Nn][Ee][Ll] | @[Aa][Ll][Ll]_[A-Za-z0-9]*) exit 0 ;;
            esac
        done
        exit 1
    }
)

# Prints the mentions, one per line, or the text without them as escapes for printf. Works byte by byte through od, to be
# independent of the locale.
mailbag_spoken() (
    LC_ALL=C
    export LC_ALL
    case $2 in
    -) od -An -v -tu1 ;;
    *) printf %s "$2" | od -An -v -tu1 ;;
    esac | awk -v asked="$1" -v signs="$(printf %s "$mailbag_signs" | tr '\n' ' ')" "$mailbag_awk"
)

# Non-ASCII punctuation, symbols and emoji, which may be next to a mention. All other characters count as letters.
mailbag_signs='
128-169 171-180 182-185 187-191 215-215 247-247 894-894 903-903 1370-1375 1417-1418 1470-1470 1472-1472
1475-1475 1523-1524 1548-1549 1563-1567 1642-1645 1748-1748 2404-2405 3663-3663 3674-3675 4170-4175 4960-4968
6100-6106 6144-6158 8192-11263 11776-11903 12288-12292 12296-12320 12336-12336 12539-12539 65024-65055
65072-65135 65279-65279 65280-65295 65306-65312 65339-65344 65371-65381 65520-65535 126976-129791
917504-921599
'

mailbag_awk='
function letter(x,   i) {
    if (x < 128) return x >= 48 && x <= 57 || x >= 65 && x <= 90 || x >= 97 && x <= 122
    for (i = 1; i <= spans; i++) if (x >= first[i] && x <= last[i]) return 0
    return 1
}
function blank(x) { return x == 32 || x == 9 || x == 10 || x == 13 }
# Code spans: a run of backticks is closed by the next run of the same length.
function spans_of(from, to,   i, k, l, n, start, stop, closes, following) {
    n = 0
    for (i = from; i < to; i++) {
        if (c[i] != 96) continue
        start[n] = i
        while (i < to && c[i] == 96) i++
        stop[n++] = i
    }
    for (k = n - 1; k >= 0; k--) {
        l = stop[k] - start[k]
        closes[k] = (l in following) ? following[l] : -1
        following[l] = k
    }
    for (k = 0; k < n; k++) {
        if (closes[k] < 0) continue
        for (i = start[k]; i < stop[closes[k]]; i++) c[i] = 96
        k = closes[k]
    }
}
# Sets mark, long and bare if a line is a fence.
function fence(from, to,   i) {
    mark = 0
    for (i = from; i < to && c[i] == 32;) i++
    if (i == to || i - from > 3 || c[i] != 96 && c[i] != 126) return
    mark = c[i]
    for (long = 0; i < to && c[i] == mark; i++) long++
    if (long < 3) mark = 0
    for (bare = 1; i < to; i++) {
        if (!blank(c[i])) bare = 0
        if (mark == 96 && c[i] == 96) mark = 0
    }
}
function without_code(   from, to, i, prose, open, least) {
    prose = 0
    for (from = 0; from < n; from = to) {
        for (to = from; to < n && c[to] != 10;) to++
        if (to < n) to++
        fence(from, to)
        if (!open && !mark) continue
        if (!open) {
            spans_of(prose, from)
            open = mark
            least = long
        } else if (mark == open && long >= least && bare) open = 0
        for (i = from; i < to; i++) c[i] = 96
        prose = to
    }
    spans_of(prose, n)
}
function beside(x) { return letter(x) || x < 128 && index("._-+%/\\@=", sprintf("%c", x)) }
# The end of the name that begins here; 0 if none does.
function name_end(begin,   i, l, e) {
    for (e = begin; e < n && c[e] < 128 && (letter(c[e]) || c[e] == 45 || c[e] == 46 || c[e] == 95);) e++
    while (e > begin && (c[e - 1] == 45 || c[e - 1] == 46)) e--
    l = e - begin
    if (l < 1 || l > 64 || !letter(c[begin])) return 0
    i = c[e] == 47 ? e + 1 : e
    if (e < n && c[e] == 64 || i < n && letter(c[i])) return 0
    return e
}
function is_tag(begin, e,   word) {
    for (; begin < e; begin++) word = word sprintf("%c", c[begin])
    word = tolower(word)
    return word !~ /^(all|channel|human|mailbag|cap|owner|task|lane|repo)$/ && word !~ /^(all|any)_/
}
function mention(at,   e, far) {
    if (at > 0 && !(c[at - 1] == 47 && ended == at - 1 && ended > 0) && beside(c[at - 1])) return 0
    e = name_end(at + 1)
    if (!e) return 0
    far = e < n && c[e] == 58 && is_tag(at + 1, e) ? name_end(e + 1) : 0
    return ended = far ? far : e
}
{ for (i = 1; i <= NF; i++) byte[bytes++] = $i }
END {
    n = 0
    spans = split(signs, span, " ")
    for (i = 1; i <= spans; i++) {
        split(span[i], pair, "-")
        first[i] = pair[1] + 0
        last[i] = pair[2] + 0
    }
    for (i = 0; i < bytes; i++) {
        from[n] = i
        x = byte[i]
        more = x < 192 ? 0 : x < 224 ? 1 : x < 240 ? 2 : 3
        if (more) x -= more == 1 ? 192 : more == 2 ? 224 : 240
        while (more-- > 0) x = x * 64 + byte[++i] - 128
        c[n++] = x
    }
    from[n] = bytes
    without_code()
    for (i = 0; i < n; i++) {
        if (c[i] != 64 || !mention(i)) {
            for (k = from[i]; k < from[i + 1]; k++) kept[size++] = byte[k]
            continue
        }
        name = ""
        for (; i < ended; i++) name = name sprintf("%c", c[i])
        if (!(name in seen) && asked == "mentions") print name
        seen[name] = 1
        while (i < n && c[i] == 32) i++
        i--
    }
    for (begin = 0; begin < size && blank(kept[begin]);) begin++
    while (size > begin && blank(kept[size - 1])) size--
    for (i = begin; i < size && asked == "text"; i++) {
        printf "\\%03o", kept[i]
        if (i % 512 == 511) print ""
    }
    if (asked == "text") print ""
}
'

mailbag_role() (
    role=${1:-${MAOS_AGENT_ROLE:-}}
    [ -n "$role" ] || mailbag_fail 2 "no role: pass a role or set MAOS_AGENT_ROLE"
    printf '%s\n' "$role"
)

mailbag_broadcast_to_role() (
    [ $# -ge 4 ] || mailbag_fail 2 "usage: mailbag_broadcast_to_role ROLE TYPE SUBJECT BODY [FIELD]..."
    role=$(mailbag_role "$1") || exit
    type=$2 subject=$3 body=$4
    shift 4
    mailbag_send "all_$role" "$body" type="$type" subject="$subject" "$@"
)

mailbag_request_from_role() (
    [ $# -ge 3 ] || mailbag_fail 2 "usage: mailbag_request_from_role ROLE SUBJECT BODY [SECONDS]"
    seconds=$(mailbag_seconds "${4:-300}") || exit
    role=$(mailbag_role "$1") && me=$(mailbag_me) || exit
    id=$(mailbag_send "any_$role" "$3" type=request subject="$2" requires_response:=true) || exit
    until=$(($(date +%s) + seconds))
    while :; do
        list=$(mailbag_inbox) || exit
        while IFS= read -r file; do
            [ -n "$file" ] && mailbag_answers "$file" "$id" "$me" || continue
            printf '%s\n' "$file"
            case $(mailbag_field "$file" from)$(mailbag_field "$file" type) in
            '"mailbag""error"')
                mailbag_text "$file" body >&2
                exit 65
                ;;
            esac
            exit 0
        done <<EOF
$list
EOF
        [ "$(date +%s)" -lt "$until" ] || mailbag_fail 4 "no answer to $id within $seconds s"
        sleep 0.2
    done
)

mailbag_answers() (
    [ "$(mailbag_field "$1" type)" != '"ack"' ] || exit 1
    case $(mailbag_field "$1" in_reply_to) in
    "\"$2\"" | "\"$3/$2\"") exit 0 ;;
    # A reference by record number: the router's copy in sent/ has the number in its name. Check its id, because the
    # number may be another sender's message id.
    '"'[0-9]*'"')
        seq=$(mailbag_text "$1" in_reply_to)
        for sent in "$(mailbag_room)/sent/$3/$seq~"*.json; do
            [ -f "$sent" ] && IFS= read -r line <"$sent" || continue
            case $line in "{\"id\": \"$2\","*) exit 0 ;; esac
        done
        ;;
    esac
    [ "$(mailbag_field "$1" thread_id)" = "\"$2\"" ]
)

mailbag_context() (
    if [ -n "${MAOS_SHARED_CONTEXT:-}" ]; then
        printf '%s\n' "$MAOS_SHARED_CONTEXT"
        exit
    fi
    room=$(mailbag_room) || exit
    said=context
    if [ -f "$room/settings.toml" ]; then
        while IFS= read -r line || [ -n "$line" ]; do
            [ "$(printf %s "${line%%=*}" | tr -d ' \t')" = context ] || continue
            value=${line#*=}
            while :; do
                case $value in [[:blank:]]*) value=${value#?} ;; *) break ;; esac
            done
            case $value in
            *\\*) mailbag_fail 1 "can't read context in $room/settings.toml; set MAOS_SHARED_CONTEXT" ;;
            \"*\"*) said=${value#\"} && said=${said%%\"*} ;;
            \'*\'*) said=${value#\'} && said=${said%%\'*} ;;
            *) mailbag_fail 1 "can't read context in $room/settings.toml; set MAOS_SHARED_CONTEXT" ;;
            esac
        done <"$room/settings.toml"
    fi
    case $said in
    /*) printf '%s\n' "$said" ;;
    *) printf '%s\n' "$room/$said" ;;
    esac
)

mailbag_sha256() (
    if command -v sha256sum >/dev/null 2>&1; then
        sum=$(sha256sum <"$1") || exit
    else
        sum=$(shasum -a 256 <"$1") || exit
    fi
    printf '%s\n' "${sum%% *}"
)

mailbag_media_type() (
    case $1 in
    *.md) echo text/markdown ;; *.txt | *.log) echo text/plain ;; *.json) echo application/json ;;
    *.csv) echo text/csv ;; *.html | *.htm) echo text/html ;; *.xml) echo text/xml ;; *.png) echo image/png ;;
    *.jpg | *.jpeg) echo image/jpeg ;; *.svg) echo image/svg+xml ;; *.pdf) echo application/pdf ;;
    *.tar) echo application/x-tar ;; *.gz) echo application/gzip ;; *.zip) echo application/zip ;;
    *) echo application/octet-stream ;;
    esac
)

# Prints the path below the context, the digest and the id of the announcement, one per line.
mailbag_share_artifact() (
    [ $# -ge 3 ] || mailbag_fail 2 "usage: mailbag_share_artifact CATEGORY FILENAME CONTENT [TO] [NOTE]"
    case $2 in
    '' | . | .. | */*) mailbag_fail 2 "cannot share $2: it is not a file name" ;;
    esac
    scratch=$(mktemp -d) || exit
    trap 'rm -rf -- "$scratch"' EXIT
    case $3 in
    -) cat >"$scratch/$2" ;;
    *) printf %s "$3" >"$scratch/$2" ;;
    esac || exit
    mailbag_share_file "$scratch/$2" "$1" "${4:-all}" "${5:-}"
)

mailbag_share_file() (
    LC_ALL=C
    [ $# -ge 2 ] || mailbag_fail 2 "usage: mailbag_share_file FILE CATEGORY [TO] [NOTE]"
    file=$1 category=$2 name=${1##*/}
    case $category in
    '' | [!A-Za-z0-9]* | *[!A-Za-z0-9._-]*) mailbag_fail 2 "$category is not a valid category; use a name such as research" ;;
    esac
    [ -f "$file" ] && [ ! -L "$file" ] ||
        mailbag_fail 2 "cannot share $file: it is not a regular file; links and directories are not shared"
    directory=$(mailbag_context)/$category || exit
    [ ! -L "$directory" ] || mailbag_fail 1 "cannot share into $directory: it is a symbolic link; remove the link"
    mkdir -p -- "$directory" || exit
    draft="$directory/.tmp-$(mailbag_new_id)"
    trap 'rm -f -- "$draft"' EXIT
    cat -- "$file" >"$draft" || exit
    sync -- "$draft" 2>/dev/null || sync
    digest=$(mailbag_sha256 "$draft") || exit
    number=1 kept=$name
    while :; do
        there="$directory/$kept"
        # A hard link never overwrites a file.
        [ ! -d "$there" ] && ln -- "$draft" "$there" 2>/dev/null && break
        [ -f "$there" ] && [ ! -L "$there" ] && [ "$(mailbag_sha256 "$there")" = "$digest" ] && break
        [ -e "$there" ] || [ -L "$there" ] || mailbag_fail 1 "cannot write $name to $directory"
        number=$((number + 1))
        case $name in
        ?*.*) kept="${name%.*}-$number.${name##*.}" ;;
        *) kept="$name-$number" ;;
        esac
    done
    sync -- "$directory" 2>/dev/null || sync
    path=$(printf %s "$category/$kept" | mailbag_json)
    session=
    [ -z "${MAOS_SESSION_ID:-}" ] || session=", \"session_id\": $(printf %s "$MAOS_SESSION_ID" | mailbag_json)"
    id=$(mailbag_send "${3:-all}" "${4:-}" type=announcement subject="$category: $name" \
        "metadata:={\"category\": \"$category\"$session}" \
        "attachments:=[{\"path\": $path, \"sha256\": \"$digest\", \"media_type\": \"$(mailbag_media_type "$kept")\"}]") ||
        exit
    printf '%s\n' "$category/$kept" "$digest" "$id"
)

mailbag_route() (
    command -v mailbag >/dev/null 2>&1 || mailbag_fail 1 "the program mailbag is not on the PATH"
    room=$(mailbag_room) && mailbag --room "$room" run --once -q >/dev/null
)

if [ "${0##*/}" = mailbag.sh ] && [ -z "${mailbag_sourced:-}" ]; then
    case ${1:-} in
    send | reply | inbox | each | done | text | field | wait | ack | share_artifact | broadcast_to_role | \
        request_from_role | mentions | without_mentions | is_broadcast | drop | route)
        mailbag_command=$1
        shift
        "mailbag_$mailbag_command" "$@"
        exit
        ;;
    *) mailbag_fail 2 "usage: mailbag.sh send|reply|inbox|each|done|text|field|wait|ack|share_artifact|broadcast_to_role|request_from_role|mentions|without_mentions|is_broadcast|drop|route" ;;
    esac
fi
