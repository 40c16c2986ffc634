/** Pure: texts that derive from the declarations: the page of commands, and completions for bash, zsh and fish. */
import { markdownTable } from '../kernel/index.ts'
import { roleGroups, type CommandOption } from './declaration.ts'
import {
  type CommandName,
  commandNames,
  getDeclaration,
  commandExamples,
  commandOptions,
  commandRoles,
  commandRules,
  commandSynopsis,
  optionText,
} from './declarations.ts'
import { knownValues, listKinds } from './parse.ts'

/** Formats every command with its roles and options as a page in Markdown. */
export function commandsPage(): string {
  const roles = commandNames.flatMap((command) => {
    const may = commandRoles(command)
    const { second, cuts } = getDeclaration(command)
    if (may === undefined) return []
    const two = second === 'always' ? 'always' : second === 'on' ? '`TWO_PERSONS`' : ''
    return [
      [`\`${command}\``, ...roleGroups.all.map((role) => (may.includes(role) ? 'yes' : '')), two, cuts ? 'yes' : ''],
    ]
  })
  const sections = commandNames.map((command) => {
    const options = Object.entries(commandOptions(command)).map(([name, option]) => [
      `\`--${name}\``,
      option.value === '' ? '' : `\`${option.value}\``,
      optionText(option),
    ])
    return [
      `## ${command}`,
      `${getDeclaration(command).summary} ${commandRules(command).join(' ')}`,
      `\`\`\`sh\n${[commandSynopsis(command), ...commandExamples(command)].join('\n')}\n\`\`\``,
      ...(options.length === 0 ? [] : [markdownTable(['option', 'value', 'meaning'], options)]),
    ].join('\n\n')
  })
  return `# Commands of the operator

Each with its options. \`operator COMMAND --help\` prints the same. Commands that are not in the first table change nothing for partners, and need no person.

${markdownTable(['command', ...roleGroups.all, 'second person', 'asks for yes'], roles)}

${sections.join('\n\n')}
`
}

/** Lists the words that may follow each prefix of a command. */
function nextWords(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>()
  for (const command of commandNames) {
    const words = command.split(' ')
    for (const [at, word] of words.entries()) {
      const typed = words.slice(0, at).join(' ')
      found.set(typed, (found.get(typed) ?? new Set()).add(word))
    }
  }
  return new Map([...found].map(([typed, words]) => [typed, [...words].toSorted()]))
}

const isFile = ({ kind }: CommandOption): boolean => kind === 'file'
const optionNames = (command: CommandName) => Object.keys(commandOptions(command)).map((name) => `--${name}`)

/** Formats a shell function with a `case` branch for each text, which lists all inputs that print it. */
function shellCase(name: string, entries: Iterable<readonly [typed: string, text: string]>): string {
  const branches = Map.groupBy(entries, ([, text]) => text)
  const lines = [...branches].map(
    ([text, typed]) => `  ${typed.map(([words]) => `'${words}'`).join('|')}) echo '${text}' ;;`,
  )
  return `${name}() {\n  case "$1" in\n${lines.join('\n')}\n  esac\n}`
}

/** Lists the values of each option: `@file`, `@list` with values, values, or `@any`. Flags have no line. */
const valueLines = () =>
  commandNames.flatMap((command) =>
    Object.entries(commandOptions(command)).flatMap(([name, option]): readonly (readonly [string, string])[] => {
      if (option.kind === 'flag') return []
      const known = knownValues(option)
        ?.filter((value) => !value.includes(' '))
        .join(' ')
      const text = isFile(option) ? '@file' : known ? `${listKinds.has(option.kind) ? '@list ' : ''}${known}` : '@any'
      return [[`${command} --${name}`, text]]
    }),
  )

/** Formats the tables as functions of a POSIX shell, for bash and zsh. */
const shellTables = () =>
  [
    shellCase(
      '_operator_words',
      [...nextWords()].map(([typed, words]) => [typed, words.join(' ')] as const),
    ),
    shellCase(
      '_operator_options',
      commandNames.map((command) => [command, optionNames(command).join(' ')] as const),
    ),
    shellCase('_operator_values', valueLines()),
  ].join('\n')

export const bashCompletion =
  (): string => `# Completion of the commands of the operator: source <(operator completion bash)
${shellTables()}
_operator() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" typed='' values option given
  # bash takes --option=value apart.
  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for given in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $given == -* ]] && break
    typed="\${typed:+$typed }$given"
  done
  COMPREPLY=()
  [[ $prev == --* ]] && values="$(_operator_values "$typed $prev")"
  case "$values" in
    '@any') return ;;
    '@file') COMPREPLY=($(compgen -f -- "$cur")); return ;;
    '@list '*) local head=''; [[ $cur == *,* ]] && head="\${cur%,*},"
      COMPREPLY=($(compgen -P "$head" -W "\${values#@list }" -- "\${cur##*,}")); return ;;
    ?*) COMPREPLY=($(compgen -W "$values" -- "$cur")); return ;;
  esac
  if [[ " \${COMP_WORDS[*]:1:COMP_CWORD-1} " != *' --'* ]]; then
    COMPREPLY=($(compgen -W "$(_operator_words "$typed")" -- "$cur"))
  fi
  for option in $(_operator_options "$typed"); do
    [[ " \${COMP_WORDS[*]:1:COMP_CWORD-1} " == *" $option "* ]] || COMPREPLY+=($(compgen -W "$option" -- "$cur"))
  done
}
complete -o filenames -F _operator operator
`

export const zshCompletion = (): string => `#compdef operator
# Completion of the commands of the operator: source <(operator completion zsh)
${shellTables()}
_operator() {
  local typed='' values given previous="\${words[CURRENT-1]}"
  local -a free
  for given in "\${(@)words[2,CURRENT-1]}"; do
    [[ $given == -* ]] && break
    typed="\${typed:+$typed }$given"
  done
  if [[ $PREFIX == --*=* ]]; then previous="\${PREFIX%%=*}"; compset -P '*='; fi
  [[ $previous == --* ]] && values="$(_operator_values "$typed $previous")"
  case "$values" in
    '@any') return ;;
    '@file') _files; return ;;
    '@list '*) compset -P '*,'; compadd -S '' -- \${=values#@list }; return ;;
    ?*) compadd -- \${=values}; return ;;
  esac
  [[ " \${words[2,CURRENT-1]} " != *' --'* ]] && compadd -- \${=$(_operator_words "$typed")}
  free=(\${=$(_operator_options "$typed")})
  compadd -- \${free:|words}
}
compdef _operator operator
`

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`

export function fishCompletion(): string {
  const words = [...nextWords()].map(
    ([typed, next]) => `complete -c operator -n "__operator_typed ${quoted(typed)}" -a ${quoted(next.join(' '))}`,
  )
  const options = commandNames.flatMap((command) =>
    Object.entries(commandOptions(command)).map(([name, option]) => {
      const known = knownValues(option)
        ?.filter((value) => !value.includes(' '))
        .join(' ')
      const given = known && listKinds.has(option.kind) ? `(__operator_list ${known})` : known
      const value =
        option.kind === 'flag'
          ? ''
          : isFile(option)
            ? ' -r -F'
            : given === undefined
              ? ' -x'
              : ` -x -a ${quoted(given)}`
      return `complete -c operator -n "__operator_of ${quoted(command)} --${name}" -l ${name}${value} -d ${quoted(option.text)}`
    }),
  )
  return `# Completion of the commands of the operator: operator completion fish | source
function __operator_before
    set -l typed
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and break
        set -a typed $word
    end
    string join ' ' -- $typed
end
function __operator_typed
    test (count (string match -- '--*' (commandline -opc))) -eq 0; and test "$(__operator_before)" = "$argv[1]"
end
function __operator_of
    test "$(__operator_before)" = "$argv[1]"; and not contains -- $argv[2] (commandline -opc)[1..-2]
end
function __operator_list
    set -l head (string match -r '.*[=,]' -- (commandline -ct) | string replace -r '^--[^=]*=' '')
    for each in $argv
        echo "$head$each"
    end
end
complete -c operator -f
${[...words, ...options].join('\n')}
`
}
