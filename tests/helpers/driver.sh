# Runs one verb of the shell helper for the tests.
set -eu
. "${0%/*}/mailbag.sh"

# Everything up to the end, line ends included, which $(…) would cut off.
body_into() { mailbag_text "$1" body >"$2"; }

echo_one() {
    body_into "$2" "$1/$(ls "$1" | wc -l | tr -d ' ')"
}

stop_at_one() {
    body=$(mailbag_text "$2" body)
    printf '%s\n' "$body"
    [ "$body" != "$1" ] || return 9
}

rejection_one() {
    rejection=false
    [ "$(mailbag_field "$1" from)$(mailbag_field "$1" type)" != '"mailbag""error"' ] || rejection=true
    codes=
    while read -r name value; do
        [ "$name" != '"code":' ] || codes="$codes, ${value%,}"
    done <"$1"
    printf '{"rejection": %s, "codes": [%s]}\n' "$rejection" "${codes#, }"
}

ack_one() { mailbag_ack "$2" "$1"; }

verb=$1
shift
status=0
case $verb in
drop) for file in "$@"; do dropped=$(mailbag_drop "$file") && printf '%s\n' "${dropped##*/}"; done ;;
send) mailbag_send "$1" - <"$2" ;;
wait) file=$(mailbag_wait "$1" from="$2") || status=$? ;;
broadcast) mailbag_broadcast_to_role "$@" ;;
route) mailbag_route ;;
echo) mailbag_each echo_one "$1" ;;
stop_at) mailbag_each stop_at_one "$1" ;;
rejections) mailbag_each rejection_one ;;
answer)
    file=$(mailbag_wait "$1")
    body_into "$file" "$file.body"
    mailbag_reply "$file" - <"$file.body"
    rm "$file.body"
    mailbag_done "$file"
    ;;
ask)
    id=$(mailbag_send "$1" - type=question subject='re: "Ports"' <"$2")
    file=$(mailbag_wait "$3" thread_id="$id")
    body_into "$file" "$4"
    mailbag_done "$file"
    printf '%s\n' "$id"
    ;;
request)
    # The body is an argument here, and so is without the line ends at its end.
    file=$(mailbag_request_from_role "$1" Help "$(cat "$2")" "$3") || status=$?
    [ "$status" != 0 ] || body_into "$file" "$4"
    [ -z "$file" ] || mailbag_done "$file"
    ;;
ack) mailbag_each ack_one "$1" ;;
mentions) for file in "$@"; do mailbag_parse_mentions <"$file"; done ;;
share) mailbag_share_artifact "$2" "${1##*/}" - "$3" "$4" <"$1" ;;
artifact) mailbag_share_artifact "$1" "$2" - <"$3" ;;
esac
case $verb in
wait) [ "$status" != 0 ] || printf '%s\n' "$(mailbag_text "$file" body)" ;;
esac
exit "$status"
