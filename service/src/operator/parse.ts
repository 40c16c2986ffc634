/**
 * Parses the arguments of a command by its declaration. Throws a one-line ConfigError that states the option, its value
 * and the remedy.
 */
import { capabilities, type Permission, permissions } from '@partner-payments/wire'
import { ConfigError } from '../app/config.ts'
import {
  type Currency,
  currencies,
  isCurrency,
  type Minor,
  nearestName,
  normalizeName,
  isUuid,
} from '../kernel/index.ts'
import type { FormOption } from '../pages/index.ts'
import { isIban } from '../rails/index.ts'
import type { OptionValues, CommandOption, TypedOptions } from './declaration.ts'
import {
  type CommandName,
  commandNames,
  getDeclaration,
  isCommand,
  commandList,
  type ParsedOptions,
  commandOptions,
} from './declarations.ts'

export type ParsedCommand = { readonly command: CommandName; readonly typed: TypedOptions }

const refuse = (text: string) => new ConfigError(`operator: ${text}`)

/** Parses a command and its typed options. Throws for an unknown command or option. */
export function parseCommand(args: readonly string[]): ParsedCommand {
  const [command, rest] = findCommand(args)
  const taken = commandOptions(command)
  const typed: Record<string, string | true> = {}
  for (let at = 0; at < rest.length; at += 1) {
    const [, name = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(rest[at] ?? '') ?? []
    if (name === '') throw refuse(`${command} takes no argument "${rest[at]}": ${optionList(command)}`)
    const option = Object.hasOwn(taken, name) ? taken[name] : undefined
    if (option === undefined) throw unknownOption(command, name, typed)
    if (Object.hasOwn(typed, name)) throw refuse(`--${name} is given twice: give it once`)
    if (option.kind === 'flag') {
      if (inline !== undefined) throw refuse(`--${name} takes no value: leave out "=${inline}"`)
      typed[name] = true
      continue
    }
    const value = inline ?? rest[at + 1]
    if (inline === undefined) at += 1
    if (value === undefined || (inline === undefined && value.startsWith('--')))
      throw refuse(`--${name} needs a value: --${name} ${option.value}`)
    if (value.trim() === '') throw refuse(`--${name} is empty: leave it out, or give it a value`)
    typed[name] = value
  }
  return { command, typed }
}

/** Finds the longest command that the words begin with, and the arguments after it. */
function findCommand(args: readonly string[]): readonly [CommandName, readonly string[]] {
  const first = args.findIndex((arg) => arg.startsWith('-'))
  const words = first === -1 ? args : args.slice(0, first)
  for (let count = words.length; count > 0; count -= 1) {
    const command = words.slice(0, count).join(' ')
    if (!isCommand(command)) continue
    const meant = count < words.length ? nearestName(words.join(' '), commandNames) : undefined
    if (meant !== undefined && meant !== command) break
    return [command, args.slice(count)]
  }
  const typed = words.join(' ')
  const meant = nearestName(typed, commandNames)
  throw meant === undefined ? new ConfigError(commandList()) : refuse(`no command ${typed}; did you mean ${meant}?`)
}

function optionList(command: CommandName): string {
  const names = Object.keys(commandOptions(command))
  return names.length === 0 ? 'it takes no options' : `it takes ${names.map((name) => `--${name}`).join(', ')}`
}

/** Groups of option kinds that people confuse with each other. */
const kindSenses: Partial<Record<keyof OptionValues, string>> = {
  ...{ time: 'time', moment: 'time', day: 'time', amount: 'money', positive: 'money', file: 'file', id: 'id' },
}

/** The group of each option name, across all commands. */
const optionSenses: ReadonlyMap<string, string> = new Map(
  commandNames.flatMap((command) =>
    Object.entries(getDeclaration(command).options).flatMap(([name, { kind }]) => {
      const sense = kindSenses[kind]
      return sense === undefined ? [] : [[name, sense] as const]
    }),
  ),
)

/**
 * Returns the error for an unknown option. It suggests an option with a similar name, or one of the same group that was
 * not given.
 */
function unknownOption(command: CommandName, name: string, typed: TypedOptions): ConfigError {
  const sense = optionSenses.get(name)
  const alike = Object.entries(getDeclaration(command).options).find(
    ([own, { kind }]) => sense !== undefined && kindSenses[kind] === sense && !Object.hasOwn(typed, own),
  )
  const meant = nearestName(name, Object.keys(commandOptions(command))) ?? alike?.[0]
  return refuse(
    `--${name} is not an option of ${command}; ${meant === undefined ? optionList(command) : `did you mean --${meant}?`}`,
  )
}

type OptionReader<T> = (
  text: string,
  mistake: (cure: string) => ConfigError,
  option: CommandOption,
  typed: TypedOptions,
) => T

const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/
const dayForm = /^\d{4}-\d\d-\d\d$/
/** Maximum digits before the decimal point, more than any amount needs. */
const wholeDigitsMax = 12

const readTime: OptionReader<Date> = (text, mistake) => {
  const read = new Date(text)
  if (!timeForm.test(text) || Number.isNaN(read.getTime()) || !isDay(text.slice(0, 10)))
    throw mistake('must be a time such as 2026-03-01T12:00:00Z')
  return read
}

/** Refuses the 30th of February, which `Date` reads as a day of March. */
const isDay = (text: string): boolean => {
  const read = new Date(`${text}T00:00:00Z`)
  return dayForm.test(text) && !Number.isNaN(read.getTime()) && read.toISOString().startsWith(text)
}

const readCurrency: OptionReader<Currency> = (text, mistake) => {
  if (!isCurrency(text)) throw mistake(`must be one of ${Object.keys(currencies).join(', ')}`)
  return text
}

/** Reads an exact amount in major units of `--currency`. */
const readAmount: OptionReader<Minor> = (text, mistake, _option, { currency: code }) => {
  if (code === undefined) throw refuse('--currency is required')
  const given = readCurrency(
    String(code),
    (cure) => refuse(`--currency ${cure} (it is "${String(code)}")`),
    {} as CommandOption,
    {},
  )
  return readMinor(text, given, mistake)
}

function readMinor(text: string, currency: Currency, mistake: (cure: string) => ConfigError): Minor {
  const { digits } = currencies[currency]
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text)
  const [, whole = '', fraction = ''] = match ?? []
  if (match === null || whole.length > wholeDigitsMax || fraction.length > digits)
    throw mistake(`must be an amount such as 1000.00, with at most ${digits} decimal digits`)
  return BigInt(`${whole}${fraction.padEnd(digits, '0')}`)
}

const splitList = (text: string): readonly string[] => text.split(',').map((part) => part.trim())

const readList = <T extends string>(
  text: string,
  known: readonly T[],
  mistake: (cure: string) => ConfigError,
  also = '',
): readonly T[] =>
  splitList(text).map((part) => {
    const found = known.find((each) => each === part)
    if (found === undefined) throw mistake(`must be a list of ${known.join(',')}${also}: ${part} is none of them`)
    return found
  })

const scheduled: readonly CommandName[] = commandNames.filter((command) => getDeclaration(command).scheduled)

/** Lists the values of an option, for shells and forms. Undefined for free text. */
export function knownValues({ kind, choices }: CommandOption): readonly string[] | undefined {
  if (kind === 'currency') return Object.keys(currencies)
  if (kind === 'permissions') return ['all', ...permissions]
  if (kind === 'capabilities') return ['none', ...capabilities]
  return kind === 'commands' ? scheduled : choices
}
/** Kinds whose value is a comma-separated list. */
export const listKinds: ReadonlySet<keyof OptionValues> = new Set([
  'permissions',
  'capabilities',
  'commands',
  'choices',
])
/** Length limits of form fields. */
const fieldCharsMax: Readonly<Partial<Record<keyof OptionValues, number>>> = {
  id: 36,
  iban: 42,
  name: 140,
  amount: 20,
  positive: 20,
}
const textCharsMax = 1000
/** Options without a generated field: the person has signed in, and forms have their own field for the note. */
const notInForms: ReadonlySet<string> = new Set(['staff', 'note'])

/** Lists the options of a command for a form of the desk. Files are left out, because the server does not read paths from a browser. */
export const formOptions = (command: CommandName): readonly FormOption[] =>
  Object.entries(getDeclaration(command).options)
    .filter(([name, { kind }]) => kind !== 'file' && !notInForms.has(name))
    .map(([name, option]) => ({
      ...{ name, kind: option.kind, required: !option.optional && option.otherwise === undefined },
      otherwise: option.otherwise === undefined || option.otherwise === false ? undefined : String(option.otherwise),
      values: option.kind === 'flag' ? ['yes'] : knownValues(option),
      isList: listKinds.has(option.kind),
      charsMax: String(option.max ?? '').length || (fieldCharsMax[option.kind] ?? textCharsMax),
    }))

const readers: { readonly [K in keyof OptionValues]: OptionReader<OptionValues[K]> } = {
  text: (text) => text,
  name: (text) => normalizeName(text),
  email: (text) => text,
  file: (text) => text,
  id: (text, mistake) => {
    if (!isUuid(text)) throw mistake('must be a UUID')
    // Secrets are sealed for the id of a partner as the database returns it.
    return text.toLowerCase()
  },
  time: readTime,
  moment: (text, mistake, option, typed) =>
    isDay(text) ? new Date(`${text}T23:59:59.999Z`) : readTime(text, mistake, option, typed),
  day: (text, mistake) => {
    if (!isDay(text)) throw mistake('must be a day in UTC such as 2026-03-01')
    return text
  },
  integer: (text, mistake, { min = 0, max = Number.MAX_SAFE_INTEGER }) => {
    const value = Number(text)
    if (!/^-?\d+$/.test(text) || value < min || value > max) throw mistake(`must be from ${min} to ${max}`)
    return value
  },
  currency: readCurrency,
  amount: readAmount,
  positive: (text, mistake, option, typed) => {
    const amount = readAmount(text, mistake, option, typed)
    if (amount === 0n) throw mistake('must be greater than zero')
    return amount
  },
  iban: (text, mistake) => {
    const tidy = text.replaceAll(' ', '').toUpperCase()
    if (!isIban(tidy)) throw mistake('must be an IBAN')
    return tidy
  },
  countries: (text, mistake) => {
    const given = text.trim().toUpperCase()
    const codes = [...new Set(given.split(/[\s,;]+/))]
    const wrong = codes.find((code) => !/^[A-Z]{2}$/.test(code))
    if (wrong !== undefined) throw mistake(`must be codes of countries such as IR,KP: "${wrong}" is none`)
    return codes
  },
  permissions: (text, mistake): readonly Permission[] =>
    splitList(text).includes('all') ? permissions : readList(text, permissions, mistake, ', or all'),
  capabilities: (text, mistake) => (text === 'none' ? [] : readList(text, capabilities, mistake, ', or none')),
  balances: (text, mistake) => {
    const maxima: Partial<Record<Currency, Minor>> = {}
    for (const part of splitList(text)) {
      const [code = '', amount] = part.split('=')
      if (!isCurrency(code) || amount === undefined || code in maxima)
        throw mistake(`must be amounts such as EUR=150.00,USD=150.00: ${part} is none`)
      maxima[code] = readMinor(amount, code, mistake)
    }
    return maxima
  },
  commands: (text, mistake) => readList(text, scheduled, mistake),
  flag: (text) => text === 'true' || text === 'yes',
  choice: (text, mistake, { choices = [] }) => {
    if (!choices.includes(text)) throw mistake(`must be ${choices.join(' or ')}`)
    return text
  },
  choices: (text, mistake, { choices = [] }) => readList(text, choices, mistake),
}

/** Maximum length of a value in an error. Longer values, such as a rule, are shortened. */
const shortCharsMax = 60
const shortened = (text: string): string => (text.length > shortCharsMax ? `${text.slice(0, shortCharsMax)}...` : text)

/** Parses the typed options of a command, for the command line, the desk and pending changes. */
export function parseOptions<N extends CommandName>(command: N, typed: TypedOptions): ParsedOptions<N> {
  const taken = commandOptions(command)
  for (const name of Object.keys(typed)) if (!Object.hasOwn(taken, name)) throw unknownOption(command, name, typed)
  const read = Object.entries(getDeclaration(command).options).flatMap(
    ([name, option]): readonly (readonly [string, unknown])[] => {
      const given = typed[name]
      if (given === undefined) {
        if (option.otherwise !== undefined) return [[name, option.otherwise]]
        if (option.optional) return []
        throw refuse(`--${name} is required`)
      }
      const text = String(given)
      const mistake = (cure: string) => refuse(`--${name} ${cure} (it is "${shortened(text)}")`)
      return [[name, readers[option.kind](text, mistake, option, typed)]]
    },
  )
  // The readers are chosen by the kinds in the declaration, which the compiler cannot follow.
  return Object.fromEntries(read) as ParsedOptions<N>
}
