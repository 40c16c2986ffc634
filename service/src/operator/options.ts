/** Reads the options of a command. Throws a ConfigError of one line if one is missing or wrong. */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { type Permission, permissions } from '@partner-payments/wire'
import { publicKeyMistake } from '../access/index.ts'
import { ConfigError } from '../app/config.ts'
import { after, type Currency, currencies, dayMs, isCurrency, type Minor, nearest, tidyName } from '../kernel/index.ts'

const names = [
  'name',
  'partner',
  'permissions',
  'public-key',
  'id',
  'staff',
  'minutes',
  'overlap-hours',
  'at',
  'from',
  'rule',
  'version',
  'until',
  'to',
  'key-file',
  'action',
  'note',
  'to-partner',
  'payout',
  'part',
  'customer',
  'proposal',
  'connector',
  'account',
  'currency',
  'format',
  'hash',
  'payout',
  'connector',
  'reason',
  'scope',
  'period',
  'amount',
  'hold-up-to',
  'beneficiary',
  'rail',
  'fixed',
  'basis-points',
  'min',
  'max',
  'above',
  'above-day',
  'above-bulk',
  'per-person',
  'beneficiary-hours',
  'expires-hours',
  'hours',
  'outcome',
  'direction',
  'file',
  'pool',
  'iban',
  'reference',
  'day',
  'email',
  'identified-by',
  'role',
  'state',
  'mode',
  'allow',
  'risk',
  'months',
  'key',
  'token-file',
  'evidence',
  'substitutes',
  'commands',
  'countries',
  'for',
  'days',
] as const
const flags = ['remove', 'copy', 'skip-bad', 'passkey', 'payee-mismatch'] as const
type Name = (typeof names)[number]
type Typed = Readonly<Partial<Record<Name, string> & Record<(typeof flags)[number], boolean>>>

/** Options as typed, and the person who acts. `staff` is the name of the account, if a person has signed in. */
export type Options = Typed & {
  /** The account of staff for whom the command acts. */
  readonly staffId?: string
  /** `needed`: the command waits for a second person. Else the person who has approved the change. */
  readonly second?: 'needed' | { readonly changeId: string; readonly id: string; readonly fullName: string }
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/

export function parseCommand(args: readonly string[]): { readonly command: string; readonly options: Options } {
  try {
    const texts = Object.fromEntries(names.map((name) => [name, { type: 'string' }] as const))
    const switches = Object.fromEntries(flags.map((name) => [name, { type: 'boolean' }] as const))
    const options = { ...texts, ...switches }
    const { positionals, values } = parseArgs({ args: [...args], allowPositionals: true, options })
    const given = values as Options
    const staff = given.staff === undefined ? {} : { staff: tidyName(given.staff) }
    return { command: positionals.join(' '), options: { ...given, ...staff } }
  } catch (error) {
    const unknown = /^Unknown option '--(?<name>[^']+)'/.exec((error as Error).message)?.groups?.name
    if (unknown === undefined) throw new ConfigError(`operator: ${(error as Error).message}`)
    const meant = nearest(unknown, [...names, ...flags])
    throw new ConfigError(`operator: no option --${unknown}${meant === undefined ? '' : `; did you mean --${meant}?`}`)
  }
}

/** Reports whether a switch is on: a form of the desk sends `yes`. */
export const isOn = (options: Options, name: (typeof flags)[number]): boolean =>
  options[name] === true || String(options[name]) === 'yes'

export function required(options: Options, name: Name): string {
  const value = options[name]
  if (value === undefined || value === '') throw new ConfigError(`operator: --${name} is required`)
  if (name !== 'partner' && name !== 'id' && name !== 'payout') return value
  if (!uuid.test(value)) throw new ConfigError(`operator: --${name} must be a UUID`)
  // The API secret is sealed for the partner's id as the database returns it.
  return value.toLowerCase()
}

/** Undefined: the option is not given. */
export function readId(options: Options, name: 'to-partner' | 'payout' | 'part' | 'proposal'): string | undefined {
  const text = options[name]
  if (text !== undefined && !uuid.test(text)) throw new ConfigError(`operator: --${name} must be a UUID`)
  return text?.toLowerCase()
}

export function readInteger(options: Options, name: Name, { min, max, otherwise }: IntegerBounds): number {
  const value = options[name] === undefined ? otherwise : Number(options[name])
  if (!Number.isInteger(value) || value < min || value > max)
    throw new ConfigError(`operator: --${name} must be from ${min} to ${max}`)
  return value
}
type IntegerBounds = { readonly min: number; readonly max: number; readonly otherwise: number }

/** Undefined: the option is not given. */
export function readTime(options: Options, name: Name): Date | undefined {
  const text = options[name]
  if (text === undefined) return undefined
  const time = new Date(text)
  if (!timeForm.test(text) || Number.isNaN(time.getTime()))
    throw new ConfigError(`operator: --${name} must be a time such as 2026-03-01T12:00:00Z`)
  return time
}

/** A day in UTC, from its start to before the next one. Undefined: the option is not given. */
export function readDay(options: Options, name: Name): { readonly from: Date; readonly before: Date } | undefined {
  const text = options[name]
  if (text === undefined) return undefined
  const from = new Date(`${text}T00:00:00Z`)
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || Number.isNaN(from.getTime()))
    throw new ConfigError(`operator: --${name} must be a day in UTC such as 2026-03-01`)
  return { from, before: after(from, dayMs) }
}

/** A time, or the end of a day in UTC. Undefined: the option is not given. */
export function readMoment(options: Options, name: Name): Date | undefined {
  const text = options[name]
  if (text === undefined || !/^\d{4}-\d\d-\d\d$/.test(text)) return readTime(options, name)
  return readTime({ [name]: `${text}T23:59:59.999Z` }, name)
}

export function readCurrencyOption(options: Options): Currency {
  const code = required(options, 'currency')
  if (!isCurrency(code))
    throw new ConfigError(`operator: --currency must be one of ${Object.keys(currencies).join(', ')}`)
  return code
}

/** Larger than every sum of a currency. */
const wholeDigitsMax = 12

/** An amount in major units, exactly: zero or more, in minor units of the currency. */
export function readMoney(options: Options, name: Name, currency: Currency): Minor {
  const { digits } = currencies[currency]
  const match = /^(\d+)(?:\.(\d+))?$/.exec(required(options, name))
  const [, whole = '', fraction = ''] = match ?? []
  if (match === null || whole.length > wholeDigitsMax || fraction.length > digits)
    throw new ConfigError(
      `operator: --${name} must be an amount such as 1000.00, with at most ${digits} decimal digits`,
    )
  return BigInt(`${whole}${fraction.padEnd(digits, '0')}`)
}

/** Reads an option that takes one of several values. Default: the first. */
export function readChoice<T extends string>(options: Options, name: Name, choices: readonly [T, ...T[]]): T {
  const value = options[name] ?? choices[0]
  const choice = choices.find((each) => each === value)
  if (choice === undefined) throw new ConfigError(`operator: --${name} must be ${choices.join(' or ')}`)
  return choice
}

const pemStart = '-----BEGIN PUBLIC KEY-----'

const evidenceForm = / sha256:[0-9a-f]{64}$/
const evidenceBytesMax = 50_000_000

/** Reads a document of a bank: the name of its file, and its hash. A change that waited has both. */
export async function readEvidence(options: Options): Promise<string> {
  const file = required(options, 'evidence')
  if (evidenceForm.test(file)) return file
  const bytes = await readFile(file).catch((error: Error) => {
    throw new ConfigError(`operator: --evidence ${file}: ${error.message}`)
  })
  if (bytes.length === 0 || bytes.length > evidenceBytesMax)
    throw new ConfigError(`operator: --evidence ${file}: must have 1 to ${evidenceBytesMax} bytes`)
  return `${basename(file)} sha256:${hash('sha256', bytes)}`
}

export function readPermissions(text: string): readonly Permission[] {
  if (text === 'all') return permissions
  const requested = text.split(',').map((part) => part.trim())
  const unknown = requested.find((permission) => !(permissions as readonly string[]).includes(permission))
  if (unknown !== undefined)
    throw new ConfigError(`operator: no permission ${unknown}; there are ${permissions.join(', ')}`)
  return requested as Permission[]
}

/** Refuses a key of another kind, which would fail at every request. */
export async function readPublicKey(options: Options): Promise<{ readonly publicKeyPem?: string }> {
  const file = options['public-key']
  if (file === undefined) return {}
  const refuse = (reason: string) => new ConfigError(`operator: --public-key ${file}: ${reason}`)
  // A change that waited has the text of the file.
  const pem = file.startsWith(pemStart)
    ? file
    : await readFile(file, 'utf8').catch((error: Error) => {
        throw refuse(error.message)
      })
  const mistake = publicKeyMistake(pem)
  if (mistake !== undefined) throw refuse(mistake)
  return { publicKeyPem: pem }
}
