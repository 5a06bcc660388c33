# What every hook of Atlas does, read by each of them: the hook that was here before, then Atlas.
# Written by `atlas hooks install`; the policy is in docs/hooks.md. Nothing here blocks Git but a finding of Atlas's
# checks (its exit code 97), Ctrl-C, and the hook that was here before.

atlas_say() { printf 'atlas: %s\n' "$1" >&2; }

# Find what starts Atlas: the command recorded at the installation, else the one on PATH. It is shell text, in $atlas.
atlas_find() {
    atlas=$(git config --get atlas.command)
    if [ -n "$atlas" ] && eval "atlas_is_there $atlas"; then return 0; fi
    for atlas in memory-atlas atlas; do
        if command -v "$atlas" >/dev/null 2>&1; then return 0; fi
    done
    return 1
}

# Whether every absolute path among the words of a command exists: a deleted environment leaves some that do not.
atlas_is_there() {
    for word; do
        case $word in /* | [A-Za-z]:*) [ -e "$word" ] || return 1 ;; esac
    done
}

# Whether an operation of many steps is under way. Looks at files only: a rebase asks this once for every commit.
atlas_under_way() {
    dir=${GIT_DIR:-.git}
    if [ -f "$dir" ]; then
        IFS= read -r line <"$dir"
        dir=${line#gitdir: }
    fi
    for name in rebase-merge rebase-apply CHERRY_PICK_HEAD REVERT_HEAD sequencer BISECT_LOG; do
        if [ -e "$dir/$name" ]; then return 0; fi
    done
    return 1
}

# Run the hook that was here before. A shell script is read under its old name, since some go by the name they have.
atlas_before() {
    first=
    IFS= read -r first <"$here/$hook.before-atlas"
    case $first in
        '#!'*/sh | '#!'*/bash | '#!'*/dash | '#!'*/env\ sh | '#!'*/env\ bash)
            "${first##*[/ ]}" -c '. "$0.before-atlas"' "$here/$hook" "$@" ;;
        *) "$here/$hook.before-atlas" "$@" ;;
    esac
}

# Whether Atlas has anything to do here.
atlas_has_work() {
    if [ -n "${ATLAS_SKIP-}${ATLAS_HOOK-}" ]; then return 1; fi
    case $hook in
        # Without notes among what is staged, no Python is started: code beside a vault is committed as fast as ever.
        pre-commit) ! GIT_LITERAL_PATHSPECS=0 git diff --cached --quiet -- ':(icase)*.md' ':(icase)*.markdown' ;;
        # An amended commit was told to post-commit already; at the end of a rebase, its folder is still there.
        post-rewrite) [ "${1-}" = rebase ] ;;
        post-checkout) [ "${3-}" = 1 ] && [ "${1-}" != "${2-}" ] && ! atlas_under_way ;;
        post-*) ! atlas_under_way ;;
    esac
}

atlas_hook() {
    status=0 input=
    case $hook in pre-push) input=$(cat && echo .) && input=${input%.} ;; esac
    if [ -x "$here/$hook.before-atlas" ]; then
        case $hook in
            pre-push) printf %s "$input" | atlas_before "$@" ;;
            *) atlas_before "$@" ;;
        esac
        status=$?
        case $hook in pre-*) [ "$status" = 0 ] || exit "$status" ;; esac
    fi
    atlas_has_work "$@" || exit "$status"
    if ! atlas_find; then
        atlas_say "$hook did nothing: Atlas is neither where it was nor on PATH; run \`atlas hooks install\` again"
        exit "$status"
    fi
    case $hook in
        pre-push) printf %s "$input" | eval "$atlas hook --stub pre-push \"\$@\"" ;;
        pre-commit | post-merge) eval "$atlas hook --stub $hook \"\$@\"" ;;
        # Behind Git's back, holding none of its pipes: a program that reads what Git says must not wait for the index.
        *) (exec </dev/null >/dev/null 2>&1 && eval "exec $atlas hook --stub $hook \"\$@\"") & ;;
    esac
    code=$?
    case $code in
        0) ;;
        97) exit 1 ;;
        130) exit 130 ;;
        *) atlas_say "$hook did nothing: Atlas ended with code $code; run \`atlas hooks install\` again" ;;
    esac
    exit "$status"
}
