/**
 * Pure: the statements of an account in their order, each once. A bank may send a statement again, correct it, or split
 * it into pages.
 */
import type { Minor } from '../kernel/index.ts'

type Statement = {
  readonly id: string
  readonly statementId: string
  readonly sequence: bigint | null
  readonly opening: Minor | null
  readonly closing: Minor | null
  readonly closingOn: string | null
  readonly credits: Minor
  readonly debits: Minor
  readonly createdAt: Date
}

/** One statement, and all messages that contained it: the last one counts. */
export type Versions<S> = ReadonlyMap<S, readonly S[]>

const pageForm = / page (\d+)$/
/** The id that this service gives to a page of a statement. */
export const pageIdOf = (id: string, page: string): string => `${id} page ${page}`
export const pageNumberOf = ({ statementId }: Pick<Statement, 'statementId'>): number =>
  Number(pageForm.exec(statementId)?.[1] ?? 0)

/**
 * Equal for all messages of a statement. A correction has the number, the day and the opening balance of the corrected
 * one; other parts of a day begin with another balance. Without a balance only a repetition is recognised.
 */
function keyOf(statement: Known): string {
  const { statementId, sequence, opening, closing, closingOn, credits, debits } = statement
  const isDated = isDatedStatement(statement)
  const what = isDated
    ? [sequence === null ? statementId : [sequence, pageNumberOf(statement)].join(' page '), opening, closingOn]
    : [statementId, sequence, opening, closing, closingOn, credits, debits]
  return what.map(String).join('\n')
}

type Known = Pick<Statement, 'statementId' | 'sequence' | 'opening' | 'closing' | 'closingOn' | 'credits' | 'debits'>

const isDatedStatement = ({ opening, closingOn }: Known): boolean => opening !== null && closingOn !== null

/** Reports whether two messages are about one statement, whatever they list: the later one replaces the earlier one. */
export const isSameStatement = (one: Known, other: Known): boolean =>
  isDatedStatement(one) && isDatedStatement(other) && keyOf(one) === keyOf(other)

export const isRepetition = (one: Statement, other: Statement): boolean =>
  one.closing === other.closing && one.credits === other.credits && one.debits === other.debits

const isNewer = (one: Statement, other: Statement): boolean =>
  one.createdAt > other.createdAt || (one.createdAt.getTime() === other.createdAt.getTime() && one.id > other.id)

/**
 * `statements`: by day and number. The parts of one day are in the order of their pages, otherwise of their balances.
 */
export function inOrder<S extends Statement>(statements: readonly S[]): Versions<S> {
  const versions = Map.groupBy(statements, keyOf)
  const left = [...versions.values()].map((all) => all.reduce((last, one) => (isNewer(one, last) ? one : last)))
  const ordered = new Map<S, readonly S[]>()
  let before: S | undefined
  while (left.length > 0) {
    const first = left[0] as S
    const ofDay = left.filter((one) => one.closingOn === first.closingOn)
    const next = nextOf(ofDay, first, before) ?? first
    left.splice(left.indexOf(next), 1)
    ordered.set(next, versions.get(keyOf(next)) ?? [next])
    before = next
  }
  return ordered
}

function nextOf<S extends Statement>(ofDay: readonly S[], first: S, before: S | undefined): S | undefined {
  const alike = ofDay.filter((one) => one.sequence === first.sequence)
  const paged = alike.filter((one) => pageNumberOf(one) > 0).toSorted((a, b) => pageNumberOf(a) - pageNumberOf(b))
  if (paged.length > 0) return paged[0]
  // Numbers that do not count say nothing about the order within a day.
  const whole = ofDay.filter((one) => pageNumberOf(one) === 0)
  return whole.find((one) => one.opening !== null && one.opening === before?.closing) ?? beginning(whole)
}

/** The first of parts that belong together: it begins where no other ends. */
const beginning = <S extends Statement>(parts: readonly S[]): S | undefined =>
  parts.find(
    (part) => !parts.some((other) => other !== part && other.closing !== null && other.closing === part.opening),
  )

/**
 * The balance after each statement: a page in the middle may state none, and then it follows from the previous balance
 * and the entries.
 */
export function* balancesAlong<S extends Statement>(
  statements: Iterable<S>,
): Generator<{ readonly statement: S; readonly opening: Minor | null; readonly before: Minor | null }> {
  let before: Minor | null = null
  for (const statement of statements) {
    const opening: Minor | null = statement.opening ?? before
    yield { statement, opening, before }
    before = statement.closing ?? (opening === null ? null : opening + statement.credits - statement.debits)
  }
}

/**
 * How far the numbers of a bank's statements prove that one is missing. `evidence`: where a balance is missing, because balances prove the
 * join otherwise. `consecutive`: always, also a statement whose movements add up to zero. `ignored`: never, for numbers that do
 * not count, such as times.
 */
export const numberings = ['evidence', 'consecutive', 'ignored'] as const
export type Numbering = (typeof numberings)[number]

type Joint = Pick<Statement, 'sequence' | 'closing' | 'closingOn' | 'opening'>

export const isJoined = (before: Joint, after: Joint): boolean =>
  before.closing !== null && before.closing === after.opening

/** The step between the numbers of two statements; undefined: one has none. Numbers begin again each year, for some banks. */
export function numberStep(before: Joint, after: Joint): bigint | undefined {
  if (before.sequence === null || after.sequence === null) return undefined
  const step = after.sequence - before.sequence
  const isNewYear = (before.closingOn ?? '').slice(0, 4) < (after.closingOn ?? '').slice(0, 4)
  return isNewYear && step <= 0n ? after.sequence : step
}

/** How many statements are missing between two by their numbers. */
export function missingByNumber(before: Joint, after: Joint, numbering: Numbering): bigint {
  const isProved = before.closing !== null && after.opening !== null
  if (numbering === 'ignored' || (numbering === 'evidence' && isProved)) return 0n
  const step = numberStep(before, after) ?? 1n
  return step > 1n ? step - 1n : 0n
}
