/** The page of the operator's commands. */
import { markdownTable } from '../../service/src/kernel/index.ts'
import {
  commandNames,
  declarationOf,
  examplesOf,
  optionsOf,
  rolesOf,
  rulesOf,
  synopsisOf,
  textOf,
} from '../../service/src/operator/declarations.ts'
import { staffRoles } from '../../service/src/people/staff/index.ts'

export function commandsPage(): string {
  const roles = commandNames.flatMap((command) => {
    const may = rolesOf(command)
    const { second, cuts } = declarationOf(command)
    if (may === undefined) return []
    const two = second === 'always' ? 'always' : second === 'on' ? '`TWO_PERSONS`' : ''
    return [[`\`${command}\``, ...staffRoles.map((role) => (may.includes(role) ? 'yes' : '')), two, cuts ? 'yes' : '']]
  })
  const sections = commandNames.map((command) => {
    const options = Object.entries(optionsOf(command)).map(([name, option]) => [
      `\`--${name}\``,
      option.value === '' ? '' : `\`${option.value}\``,
      textOf(option),
    ])
    const examples = examplesOf(command)
    return [
      `## ${command}`,
      `${declarationOf(command).summary} ${rulesOf(command).join(' ')}`,
      `\`\`\`sh\n${[synopsisOf(command), ...examples].join('\n')}\n\`\`\``,
      ...(options.length === 0 ? [] : [markdownTable(['option', 'value', 'meaning'], options)]),
    ].join('\n\n')
  })
  return `# Commands of the operator

Each with its options. \`operator COMMAND --help\` prints the same. Commands that are not in the first table change nothing for partners, and need no person.

${markdownTable(['command', ...staffRoles, 'second person', 'asks for yes'], roles)}

${sections.join('\n\n')}
`
}
