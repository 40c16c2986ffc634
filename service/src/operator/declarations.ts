/** Pure: the declarations by command, and the options, roles and help that derive from them. */
import type { StaffRole } from '../people/staff/index.ts'
import {
  type Declaration,
  type DeclaredOptions,
  flag,
  roleGroups,
  optional,
  note,
  type CommandOption,
  staff,
  tokenFile,
  type ReadOptions,
} from './declaration.ts'
import { moneyDeclarations } from './declared-money.ts'
import { peopleDeclarations } from './declared-people.ts'
import { ruleDeclarations } from './declared-rules.ts'

const all = { ...peopleDeclarations, ...moneyDeclarations, ...ruleDeclarations }
export type CommandName = keyof typeof all
export type ParsedOptions<N extends CommandName> = ReadOptions<(typeof all)[N]['options']>
export const commandNames = Object.keys(all) as readonly CommandName[]

export const getDeclaration = (command: CommandName): Declaration => all[command] as Declaration
export const isCommand = (text: string): text is CommandName => Object.hasOwn(all, text)

const personOptions = { staff: optional(staff), note: optional(note), 'token-file': optional(tokenFile) }
const confirmationOption = { yes: flag('Do it without asking. A script needs it.') }

/** Lists the options of a command: its own first, then those shared by all commands that need a person. */
export function commandOptions(command: CommandName): DeclaredOptions {
  const { options, by, cuts } = getDeclaration(command)
  const others = { ...(cuts && confirmationOption), ...(by && personOptions) }
  return { ...options, ...Object.fromEntries(Object.entries(others).filter(([name]) => !Object.hasOwn(options, name))) }
}

/** Returns the roles that may run a command. Undefined if it only reads, or does not exist. */
export function commandRoles(command: string): readonly StaffRole[] | undefined {
  const by = isCommand(command) ? getDeclaration(command).by : undefined
  return by && roleGroups[by]
}

/** Reports whether a role may run a command that changes something. */
export const roleMayRun = (command: string, role: StaffRole): boolean => commandRoles(command)?.includes(role) ?? false

const optionSynopsis = (name: string, { kind, value }: CommandOption): string =>
  kind === 'flag' ? `--${name}` : `--${name} ${value}`
/** Reports whether an option may be absent. A signed-in person omits `--staff`. */
const isOptional = (name: string, { optional, otherwise }: CommandOption): boolean =>
  optional === true || otherwise !== undefined || name === 'staff'

export const commandSynopsis = (command: CommandName): string =>
  [
    `operator ${command}`,
    ...Object.entries(commandOptions(command)).map(([name, option]) =>
      isOptional(name, option) ? `[${optionSynopsis(name, option)}]` : optionSynopsis(name, option),
    ),
  ].join(' ')

const boundsText = ({ min, max, otherwise }: CommandOption): string =>
  [
    ...(max === undefined ? [] : [` From ${min} to ${max}.`]),
    ...(otherwise === undefined || otherwise === false ? [] : [` Default: ${otherwise}.`]),
  ].join('')
export const optionText = (option: CommandOption): string => `${option.text}${boundsText(option)}`

/** Explains the roles of a command, its approval, confirmation and audit record. */
export function commandRules(command: CommandName): readonly string[] {
  const { by, byKind, second, cuts, hidden, scheduled, secret, options } = getDeclaration(command)
  if (by === undefined) return ['It changes nothing for partners, and needs no sign-in.']
  const log = hidden || !('partner' in options) ? 'the operator' : 'the partner'
  const absent = Object.entries(options).flatMap(([name, { unrecorded }]) => (unrecorded ? [`--${name}`] : []))
  return [
    `Roles: ${roleGroups[by].join(', ')}${byKind ? ': those that decide the kind, as decider list shows' : ''}.`,
    ...(second ? [`Another person approves it${second === 'on' ? ' where TWO_PERSONS is on' : ''}.`] : []),
    ...(secret ? ['It prints a secret once.'] : []),
    ...(cuts ? ['It takes access away: it says whose, and asks for yes at a terminal or for --yes.'] : []),
    ...(scheduled ? ['A schedule may run it with a token.'] : []),
    `The audit log of ${log} records it${absent.length === 0 ? '' : `, without ${absent.join(' and ')}`}.`,
  ]
}

export const commandExamples = (command: CommandName): readonly string[] =>
  (getDeclaration(command).examples ?? []).map((example) => `operator ${command} ${example}`)

function commandHelp(command: CommandName): string {
  const words = Object.entries(commandOptions(command)).map(
    ([name, option]) => [optionSynopsis(name, option), option] as const,
  )
  const width = Math.min(Math.max(0, ...words.map(([word]) => word.length)), 32)
  return [
    commandSynopsis(command),
    `  ${getDeclaration(command).summary}`,
    ...(words.length === 0 ? [] : ['']),
    ...words.map(([word, option]) => `  ${word.padEnd(width)}  ${optionText(option)}`),
    '',
    ...commandRules(command).map((rule) => `  ${rule}`),
    ...commandExamples(command).map((example) => `  Example: ${example}`),
  ].join('\n')
}

const title =
  'operator commands (operator COMMAND --help has the options of one; those that change something act for the person who has signed in, or in a sandbox without staff for --staff NAME):'

export function commandList(group = ''): string {
  const own = commandNames.filter((command) => `${command} `.startsWith(`${group} `))
  const listed = own.length > 0 ? own : commandNames
  const width = Math.max(...listed.map((command) => command.length))
  return [
    title,
    ...listed.map((command) => `  operator ${command.padEnd(width)}  ${getDeclaration(command).summary}`),
  ].join('\n')
}

/** Returns the help for `--help` or `-h`: about one command, a group or all. Undefined without these arguments. */
export function readHelp(args: readonly string[]): string | undefined {
  if (!args.includes('--help') && !args.includes('-h')) return undefined
  const words = args.filter((arg) => !arg.startsWith('-')).join(' ')
  return isCommand(words) ? commandHelp(words) : commandList(words)
}
