/**
 * The type of a command's declaration. Parsing, help, roles and the page of commands derive from it. It is pure and
 * loads no module, so that `--help` is fast. A command loads its function when it runs.
 */
import type { Capability, Permission } from '@partner-payments/wire'
import type { Currency, Minor } from '../kernel/index.ts'
import type { StaffRole } from '../people/staff/index.ts'

/** The value of each kind of option after parsing (parse.ts). */
export type OptionValues = {
  readonly text: string
  readonly name: string
  readonly email: string
  readonly id: string
  readonly time: Date
  /** A time. A day alone means its end in UTC. */
  readonly moment: Date
  /** A day in UTC, as typed. */
  readonly day: string
  readonly integer: number
  readonly currency: Currency
  /** An amount of at least zero, in minor units of `--currency`. */
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
  /** The placeholder of the value in the help. */
  readonly value: string
  readonly text: string
  /** True if the option may be omitted. An option that is not optional and has no default is required. */
  readonly optional?: true
  readonly otherwise?: string | number | false
  readonly choices?: readonly string[]
  readonly min?: number
  readonly max?: number
  /**
   * Omitted from the audit log: paths of keys do not concern the partner, and data of a person could never be erased
   * from the signed log. A change that awaits approval stores it until the change ends.
   */
  readonly unrecorded?: true
}
export type DeclaredOptions = Readonly<Record<string, CommandOption>>
/** Options as typed. A change that awaits approval stores them. */
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
export const dayOrTime = option('moment', 'DAY|TIME')
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
/** The options of a declaration after parsing. Other names do not compile. */
export type ReadOptions<Os extends DeclaredOptions> = {
  readonly [N in keyof Os as Os[N] extends { readonly optional: true } ? never : N]: ReadValue<Os[N]>
} & { readonly [N in keyof Os as Os[N] extends { readonly optional: true } ? N : never]?: ReadValue<Os[N]> }

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
   * A second person must approve the command: `always` if it moves money or admits a person to a partner's team, `on`
   * if TWO_PERSONS is on. Blocks and revocations of credentials take effect at once, because money could leave
   * meanwhile. Cases, hits and monitoring rules have their own proposals.
   */
  readonly second?: 'always' | 'on'
  /** Only roles that decide the kind of the case or hit may run it, as `decider list` shows. The operation refuses others. */
  readonly byKind?: true
  /** Only the author sees the result: another person approves the command, and then the author runs it. */
  readonly secret?: true
  /** A schedule may run the command with a token, because it loads or computes data and decides nothing. */
  readonly scheduled?: true
  /**
   * The partner must not read the audit record: it is about a suspicion against a customer (tipping off; AMLD, Article
   * 39), a customer's risk class, or the reason for a block. For decisions about cases, the kind of the case decides
   * this.
   */
  readonly hidden?: true
  /**
   * Describes which access the command removes with these options. The command then asks for `--yes`. Undefined if it
   * removes none.
   */
  readonly cuts?: (given: { readonly [N in keyof Os]?: string }) => string | undefined
  /** Example option lists, for calls that the list of options does not explain. */
  readonly examples?: readonly string[]
}

export type Declaration<Os extends DeclaredOptions = DeclaredOptions> = CommandTraits<Os> & {
  /** A verb phrase that says what the command does. */
  readonly summary: string
  readonly options: Os
  /** The group whose roles may run it. Undefined if it only reads and needs no sign-in. */
  readonly by?: keyof typeof roleGroups
}

/** Declares a command that only reads. */
export const readCommand = <const Os extends DeclaredOptions>(
  summary: string,
  options: Os,
  more: CommandTraits<Os> = {},
) => ({
  ...more,
  summary,
  options,
})
/** Declares a command that changes something, for the roles of a group. The audit log records it. */
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
