/**
 * The form of a command's declaration. Its parsing, its help, who may run it and the page of commands derive from it. Pure, and loads nothing:
 * `--help` reads declarations, and a command loads its function when it runs.
 */
import type { Capability, Permission } from '@partner-payments/wire'
import type { Currency, Minor } from '../kernel/index.ts'
import type { StaffRole } from '../people/staff/index.ts'

/** The value of an option of each kind when it has been read (parse.ts). */
export type OptionValues = {
  readonly text: string
  readonly name: string
  /** The address of a person. */
  readonly email: string
  readonly id: string
  readonly time: Date
  /** A time, or the end of a day in UTC. */
  readonly moment: Date
  /** A day in UTC, as it is typed. */
  readonly day: string
  readonly integer: number
  readonly currency: Currency
  /** Zero or more, in minor units of `--currency`. */
  readonly amount: Minor
  readonly positive: Minor
  readonly iban: string
  readonly countries: readonly string[]
  readonly permissions: readonly Permission[]
  readonly capabilities: readonly Capability[]
  readonly balances: Readonly<Partial<Record<Currency, Minor>>>
  /** Names of commands that a schedule may run. */
  readonly commands: readonly string[]
  /** The path of a file that the command reads or writes. */
  readonly file: string
  readonly flag: boolean
  readonly choice: string
  readonly choices: readonly string[]
}

export type CommandOption = {
  readonly kind: keyof OptionValues
  /** Stands for a value in the help. */
  readonly value: string
  readonly text: string
  /** Left out by a caller that does not need it. An option without this and without a default is required. */
  readonly optional?: true
  /** The value of an option that is left out. */
  readonly otherwise?: string | number | false
  readonly choices?: readonly string[]
  readonly min?: number
  readonly max?: number
  /** Absent from the audit log: the path of a key does not concern the partner, and a signed chain could not erase the name of a person. */
  readonly unrecorded?: true
}
export type DeclaredOptions = Readonly<Record<string, CommandOption>>
/** Options as they were typed, and as a change that waits keeps them. */
export type TypedOptions = Readonly<Record<string, string | true>>

const option =
  <const K extends keyof OptionValues>(kind: K, value: string) =>
  (text: string, shown = value) =>
    ({ kind, value: shown, text }) as const
export const text = option('text', 'TEXT')
export const name = option('name', 'NAME')
export const email = option('email', 'ADDRESS')
export const id = option('id', 'ID')
export const time = option('time', 'TIME')
export const moment = option('moment', 'DAY|TIME')
export const day = option('day', 'DAY')
export const money = option('amount', '0.50')
export const positive = option('positive', '1000.00')
export const iban = option('iban', 'IBAN')
export const countries = option('countries', 'IR,KP')
export const permissions = option('permissions', 'a:read,b:write|all')
export const capabilities = option('capabilities', 'OpenAccount,Receive,Pay,Convert|none')
export const balances = option('balances', 'EUR=150.00,USD=150.00')
export const scheduledCommands = option('commands', '"screening load,bic load"')
export const file = option('file', 'FILE')
export const currency = option('currency', 'EUR')('The currency.')
export const flag = (text: string) => ({ kind: 'flag', value: '', text, otherwise: false }) as const
export const integer = (text: string, min: number, max: number) =>
  ({ kind: 'integer', value: 'NUMBER', text, min, max }) as const
export const choice = <const C extends readonly string[]>(text: string, ...choices: C) =>
  ({ kind: 'choice', value: choices.join('|'), text, choices }) as const
export const choices = <const C extends readonly string[]>(text: string, ...each: C) =>
  ({ kind: 'choices', value: each.join(','), text, choices: each }) as const
export const optional = <const O extends CommandOption>(given: O) => ({ ...given, optional: true }) as const
export const unrecorded = <const O extends CommandOption>(given: O) => ({ ...given, unrecorded: true }) as const
export const withDefault = <const O extends CommandOption, const V extends string | number>(given: O, otherwise: V) =>
  ({ ...given, otherwise }) as const

type ReadValue<O> = O extends { readonly kind: 'choice'; readonly choices: readonly (infer C)[] }
  ? C
  : O extends { readonly kind: 'choices'; readonly choices: readonly (infer C)[] }
    ? readonly C[]
    : O extends { readonly kind: infer K extends keyof OptionValues }
      ? OptionValues[K]
      : never
/** The options of a declaration when they have been read: no other name compiles. */
export type ReadOptions<Os extends DeclaredOptions> = {
  readonly [N in keyof Os as Os[N] extends { readonly optional: true } ? never : N]: ReadValue<Os[N]>
} & { readonly [N in keyof Os as Os[N] extends { readonly optional: true } ? N : never]?: ReadValue<Os[N]> }

/** Roles that run the commands of a group. */
export const roleGroups = {
  finance: ['finance', 'admin'],
  compliance: ['compliance', 'admin'],
  money: ['finance', 'compliance', 'admin'],
  admin: ['admin'],
  support: ['support', 'admin'],
  all: ['support', 'compliance', 'finance', 'admin'],
} as const satisfies Readonly<Record<string, readonly StaffRole[]>>

type CommandTraits<Os extends DeclaredOptions> = {
  /**
   * Another person approves it: `always` if it moves money or lets a person into a partner's team by the decision of people, `on` where TWO_PERSONS
   * is on. A block is not among them: while it waits, the money leaves. Nor are the ends of credentials. Cases, hits and rules of monitoring have
   * proposals of their own.
   */
  readonly second?: 'always' | 'on'
  /** Only those of its roles run it that decide the kind of the case or hit, as `decider list` shows. The verb refuses others. */
  readonly byKind?: true
  /** Only its author sees the result: approved by another person, and then run by the author. */
  readonly secret?: true
  /** A schedule may run it with a token: it loads or computes, and decides nothing. */
  readonly scheduled?: true
  /**
   * The partner must not read its record: a suspicion against its customer (tipping off; AMLD, Article 39), the class of risk of one, or why an
   * account is blocked. Decisions about cases depend on the case (cases.ts).
   */
  readonly hidden?: true
  /** Names whose access it takes away, when, and how: the command then asks for `--yes`. Undefined: it takes none away, with these options. */
  readonly cuts?: (given: { readonly [N in keyof Os]?: string }) => string | undefined
  /** Options of calls that are not obvious from the list. */
  readonly examples?: readonly string[]
}

export type Declaration<Os extends DeclaredOptions = DeclaredOptions> = CommandTraits<Os> & {
  /** A verb phrase: what it does, or changes. */
  readonly summary: string
  readonly options: Os
  /** The group that may run it. Undefined: it only reads, and needs no person. */
  readonly by?: keyof typeof roleGroups
}

/** A command that changes nothing. */
export const readCommand = <const Os extends DeclaredOptions>(
  summary: string,
  options: Os,
  more: CommandTraits<Os> = {},
) => ({
  ...more,
  summary,
  options,
})
/** A command that changes something, for a person of these roles. The audit log records it. */
export const changeCommand = <const Os extends DeclaredOptions>(
  by: keyof typeof roleGroups,
  summary: string,
  options: Os,
  more: CommandTraits<Os> = {},
) => ({ ...more, by, summary, options })

// Options that many commands take.
export const partner = id('The partner.')
export const customer = text('The customer, by its id or your own reference of it.', 'ID')
export const payout = id('The payout.')
export const note = text('Why, for the audit log.')
export const staff = name('Your name, in a sandbox without accounts of staff.')
export const tokenFile = unrecorded(file('The file of a token, instead of the one of `sign-in`.'))
