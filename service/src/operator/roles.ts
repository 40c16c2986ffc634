/** Pure: the role that each command needs, which of them need a second person, and which a schedule may run. */
import type { StaffRole } from '../modules/staff/index.ts'

const roles: Readonly<Record<string, readonly StaffRole[]>> = {
  finance: ['finance', 'admin'],
  compliance: ['compliance', 'admin'],
  money: ['finance', 'compliance', 'admin'],
  admin: ['admin'],
  support: ['support', 'admin'],
  all: ['support', 'compliance', 'finance', 'admin'],
}

const commandsOf = {
  finance: [
    ...[
      'case propose',
      'case approve',
      'case reject',
      'bank recall',
      'bank recall sent',
      'bank recall answer',
      'safeguarding accounts set',
      'safeguarding run',
    ],
    ...['limit set', 'limit remove', 'fee set', 'fee remove', 'approval set', 'approval remove'],
    ...['cooling-off set', 'cooling-off remove', 'segregation cover', 'segregation set', 'bic load', 'sort-codes load'],
    ...['ibans import', 'ibans withdraw', 'payment end', 'payment retry', 'deposit undo', 'bank file take'],
    ...['bank entry cancel', 'payment undo', 'payment recall'],
  ],
  compliance: [
    ...['screening load', 'screening decide', 'screening country set', 'screening country remove'],
    ...['screening remove', 'gate set', 'gate remove', 'review set'],
    ...['monitoring rule set', 'monitoring rule backtest', 'monitoring rule on', 'monitoring rule off'],
    'monitoring backtest start',
    'monitoring alert export',
  ],
  money: ['account block', 'account unblock', 'account close'],
  admin: [
    ...['partner create', 'partner rotate', 'partner expire', 'partner export', 'partner import'],
    ...['service-account create', 'service-account rotate', 'service-account expire', 'service-account revoke'],
    ...[
      'staff invite',
      'staff role',
      'staff remove',
      'staff end-sessions',
      'staff token create',
      'staff token end',
      'key reseal',
      'wallet-key create',
    ],
  ],
  support: ['member recover'],
  all: ['impersonate', 'member recovery cancel', 'change approve', 'change reject', 'change run'],
} as const

/** The roles of each command that changes something. Commands that only read need no person. */
export const rolesOf: ReadonlyMap<string, readonly StaffRole[]> = new Map(
  Object.entries(commandsOf).flatMap(([group, commands]) =>
    commands.map((command) => [command, roles[group] ?? []] as const),
  ),
)

/** Reports whether a role may run a command that changes something. */
export const mayRun = (command: string, role: StaffRole): boolean => rolesOf.get(command)?.includes(role) ?? false

/** Commands whose result only its author may see: approved by another person, and then run by the author. */
export const printsSecret: ReadonlySet<string> = new Set([
  'partner rotate',
  'service-account create',
  'service-account rotate',
  'impersonate',
  'staff invite',
])

/** Commands that move money, or let a person into a partner's team, by the decision of people: two persons carry them out everywhere. */
export const alwaysNeedsTwo: ReadonlySet<string> = new Set([
  'payment end',
  'payment undo',
  'deposit undo',
  'bank file take',
  'bank entry cancel',
  'member recover',
])

/**
 * Commands that two persons carry out where TWO_PERSONS is on. A block is not among them: while it waits, the money leaves. Nor are the ends of
 * credentials. Cases, hits and rules of monitoring have proposals of their own.
 */
export const needsTwo: ReadonlySet<string> = new Set([
  ...printsSecret,
  ...['limit set', 'limit remove', 'fee set', 'fee remove', 'approval set', 'approval remove'],
  ...['cooling-off set', 'cooling-off remove', 'gate set', 'gate remove', 'account unblock', 'account close'],
  ...['screening country set', 'screening country remove', 'screening remove'],
  ...['segregation cover', 'segregation set', 'staff role', 'staff remove'],
])

/** Commands that a schedule may run with a token: they load or compute, and decide nothing. */
export const scheduled: ReadonlySet<string> = new Set([
  ...[
    'screening load',
    'bic load',
    'sort-codes load',
    'safeguarding run',
    'monitoring rule backtest',
    'monitoring alert export',
  ],
])
