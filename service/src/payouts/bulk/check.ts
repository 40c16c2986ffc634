/** Checks the lines of a bulk before it is sent: every line, with a bounded number of statements. Writes nothing. */
import { createHash } from 'node:crypto'
import { type Caller, Refusal } from '../../kernel/api/index.ts'
import { after, type Clock, dayMs, firstIdOf, newId, type Money } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import { accountTypeCodes } from '../../rails/index.ts'
import type { Beneficiaries, Beneficiary, PayeeCheck, VerificationRow } from '../../parties/beneficiaries/index.ts'
import {
  normaliseReference,
  type BatchPreview,
  type PayoutCall,
  type Payouts,
  type PossibleDuplicates,
} from '../index.ts'
import { lineDigest } from './digest.ts'
import { type ColumnMistake, parseLine, type ParsedLine, type TypedLine } from './lines.ts'
import { indexPayees, type NewPayee, type ResolvedPayee, resolvePayee } from './resolve.ts'
import { readAddress, addressProblem, accountTypeProblem } from './from-file.ts'
import * as store from './store.ts'

/** Valid line whose payee is known, or will be created. */
type ReadyLine = ParsedLine & { readonly typed: TypedLine; readonly resolved: KnownPayee }
type KnownPayee = Extract<ResolvedPayee, { readonly kind: 'saved' | 'new' }>

export type CheckedLine = {
  readonly typed: TypedLine
  /** Mistakes in cells. The line was not checked further. */
  readonly mistakes: readonly ColumnMistake[]
  readonly read: ParsedLine | undefined
  readonly resolved: ResolvedPayee | undefined
  /** Reason why the payee cannot be created, or the payout would be refused now. */
  readonly refusal: Refusal | undefined
  readonly isHeld: boolean
  /** Reason why the bank would refuse the payment. */
  readonly unreachable: string | undefined
  /** Payouts and standing orders that the line may repeat, and the numbers of earlier lines. */
  readonly duplicates: PossibleDuplicates & { readonly lines: readonly number[] }
}

export type CheckedPayee = NewPayee & {
  readonly lines: readonly number[]
  /** Undefined: no verification was requested, or the account has no IBAN. */
  readonly verification: VerificationRow | undefined
  readonly refusal: Refusal | undefined
}

/** An earlier bulk that paid lines of the file. */
type EarlierBulk = Pick<store.BulkRow, 'id' | 'createdAt' | 'accountName'> & {
  /**
   * `same`: number of distinct lines of the file that the bulk has paid. `of`: number of distinct lines in the file.
   */
  readonly same: number
  readonly of: number
}

export type CheckedBulk = {
  readonly lines: readonly CheckedLine[]
  readonly newPayees: readonly CheckedPayee[]
  readonly funds: BatchPreview['funds']
  readonly earlier: readonly EarlierBulk[]
  /** Digest of all that a person sees before deciding: lines, payees, refusals, earlier bulks. */
  readonly seen: string
}

/** `key`: the key of the bulk, whose own payouts do not count as duplicates. */
export type BulkCheck = (caller: Caller, key: string, lines: readonly TypedLine[]) => Promise<CheckedBulk>

/** Returns the key of a payout of a file: the same line of the same file is paid once. */
export const lineKey = (key: string, { line }: Pick<TypedLine, 'line'>): string => `${key}-${line}`

export type BulkCheckDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly beneficiaries: Pick<Beneficiaries, 'answersAbout' | 'assess' | 'byAccounts' | 'byTexts'>
  readonly payouts: Pick<Payouts, 'duplicatesOf' | 'judgeAll'>
}

/** A payroll of the previous quarter is not a duplicate. */
const earlierDays = 90
const earlierShown = 3

export function createBulkCheck(deps: BulkCheckDeps): BulkCheck {
  return async (caller, key, typed) => {
    const read = typed.map((line) => ({ typed: line, read: parseLine(line) }))
    const right = read.flatMap((line) => (isReadLine(line.read) ? [line.read] : []))
    const known = await readKnownPayees(deps, caller.partnerId, right)
    const today = deps.clock.now().toISOString().slice(0, 'YYYY-MM-DD'.length)
    const lines = read.map((line) => {
      if (!isReadLine(line.read)) return { ...line, read: undefined, mistakes: line.read, resolved: undefined }
      const resolved = withFileDetails(resolvePayee(line.read, known, line.typed.choice), line.typed, today)
      return { ...line, read: line.read, mistakes: [], resolved }
    })
    const ready = lines.flatMap(({ read: found, resolved, typed: line }): readonly ReadyLine[] =>
      found !== undefined && (resolved?.kind === 'saved' || resolved?.kind === 'new')
        ? [{ ...found, typed: line, resolved }]
        : [],
    )
    const [made, earlier, duplicates] = await Promise.all([
      assessNewPayees(deps, caller.partnerId, ready),
      earlierBulks(deps, caller.partnerId, key, ready),
      findDuplicates(deps, caller.partnerId, key, ready),
    ])
    const { judged, byLine } = await judge(deps, caller, ready, made)
    const checked = lines.map((line): CheckedLine => {
      const own = byLine.get(line.typed)
      const { refusal, isHeld = false, unreachable } = own ?? {}
      return { ...line, refusal, isHeld, unreachable, duplicates: duplicates.get(line.typed) ?? noDuplicates }
    })
    const newPayees = [...made.values()].map(({ row: _row, ...payee }) => payee)
    return { lines: checked, newPayees, funds: judged.funds, earlier, seen: digestOfCheck(checked, newPayees, earlier) }
  }
}

/** Checks that a pain.001 does not contradict a saved payee, and completes a new payee. */
function withFileDetails(resolved: ResolvedPayee, { file }: TypedLine, today: string): ResolvedPayee {
  if (file === undefined || (resolved.kind !== 'saved' && resolved.kind !== 'new')) return resolved
  const { bic, accountType: type, address: given } = file
  // The page says that an address without town and country is not accepted.
  const creditor = given?.town === undefined || given.country === undefined ? {} : { address: given }
  if (resolved.kind === 'new') {
    const address = readAddress({ creditor })
    const accountType = (['Checking', 'Savings'] as const).find((each) => accountTypeCodes[each] === type)
    const more = {
      ...(bic === undefined ? {} : { bic }),
      ...(accountType === undefined || resolved.payee.fields.routingNumber === undefined ? {} : { accountType }),
      ...(address === undefined ? {} : { address }),
    }
    return { kind: 'new', payee: { ...resolved.payee, more } }
  }
  if (addressProblem({ creditor, money: { currency: resolved.payee.currency } }, resolved.payee, today) !== undefined)
    return { kind: 'problem', code: 'payeeOtherAddress' }
  const isOther = type !== undefined && accountTypeProblem({ creditorAccountType: type }, resolved.payee) !== undefined
  return isOther ? { kind: 'problem', code: 'payeeOtherType' } : resolved
}

const isReadLine = (read: ReturnType<typeof parseLine>): read is ParsedLine => !Array.isArray(read)

async function readKnownPayees({ beneficiaries }: BulkCheckDeps, partnerId: string, lines: readonly ParsedLine[]) {
  const accounts = lines.flatMap(({ payee }) => ('text' in payee ? [] : [payee.account]))
  const texts = lines.flatMap(({ payee }) => ('text' in payee ? [payee.text] : []))
  const [withAccounts, withTexts] = await Promise.all([
    accounts.length === 0 ? [] : beneficiaries.byAccounts(partnerId, null, [...new Set(accounts)]),
    beneficiaries.byTexts(partnerId, [...new Set(texts)]),
  ])
  return indexPayees(withAccounts, withTexts)
}

type AssessedPayee = CheckedPayee & { readonly row: Beneficiary | undefined }

/** Assesses each new payee once, with the last verification of its name. */
async function assessNewPayees(
  { beneficiaries }: BulkCheckDeps,
  partnerId: string,
  lines: readonly ReadyLine[],
): Promise<ReadonlyMap<string, AssessedPayee>> {
  const found = lines.flatMap(({ resolved, typed }) =>
    resolved.kind === 'new' ? [{ payee: resolved.payee, line: typed.line }] : [],
  )
  const groups = [...Map.groupBy(found, ({ payee }) => payee.key).values()]
  const payees = groups.flatMap(([first]) => (first === undefined ? [] : [first.payee]))
  if (payees.length === 0) return new Map()
  const withIban = payees.flatMap(({ name, fields: { iban } }) => (iban === undefined ? [] : [{ name, iban }]))
  const [assessed, answers] = await Promise.all([
    beneficiaries.assess(payees.map(({ name, fields, currency, more }) => ({ name, currency, ...fields, ...more }))),
    beneficiaries.answersAbout(partnerId, withIban),
  ])
  const answerOf = new Map(answers.map((answer) => [JSON.stringify([answer.name, answer.iban]), answer]))
  const made = payees.map((payee, index): AssessedPayee => {
    const outcome = assessed[index]
    const verification = answerOf.get(JSON.stringify([payee.name, payee.fields.iban]))
    const lines = groups[index]?.map(({ line }) => line) ?? []
    const isRefused = outcome instanceof Refusal
    return {
      ...payee,
      lines,
      verification,
      refusal: isRefused ? outcome : undefined,
      row: isRefused ? undefined : outcome,
    }
  })
  return new Map(made.map((payee) => [payee.key, payee]))
}

const checks: Readonly<Record<VerificationRow['result'], PayeeCheck | null>> = {
  Match: 'match',
  CloseMatch: 'close_match',
  NoMatch: 'no_match',
  NotPossible: null,
}

type JudgedLines = {
  readonly refusal: Refusal | undefined
  readonly isHeld: boolean
  readonly unreachable: string | undefined
}

async function judge(
  { payouts }: BulkCheckDeps,
  caller: Caller,
  lines: readonly ReadyLine[],
  made: ReadonlyMap<string, AssessedPayee>,
): Promise<{ readonly judged: BatchPreview; readonly byLine: ReadonlyMap<TypedLine, JudgedLines> }> {
  const byLine = new Map<TypedLine, JudgedLines>()
  const bulk = { id: newId(), sums: sumsOf(lines) }
  const called = lines.flatMap((line) => {
    const { resolved, typed } = line
    const payee = resolved.kind === 'new' ? made.get(resolved.payee.key) : undefined
    if (payee?.refusal !== undefined)
      byLine.set(typed, { refusal: payee.refusal, isHeld: false, unreachable: undefined })
    const beneficiaryId = resolved.kind === 'saved' ? resolved.payee.id : payee?.row?.id
    return beneficiaryId === undefined ? [] : [{ typed, call: toCall(caller, line, beneficiaryId, bulk) }]
  })
  const unsaved = [...made.values()].flatMap(({ row, verification }) => {
    if (row === undefined) return []
    const payeeCheck = verification === undefined ? null : checks[verification.result]
    return [{ ...row, unchangedSince: row.createdAt, payeeCheck }]
  })
  const judged = await payouts.judgeAll(
    called.map(({ call }) => call),
    unsaved,
  )
  for (const [index, { refusal, isHeld, unreachable }] of judged.calls.entries()) {
    const line = called[index]?.typed
    if (line !== undefined) byLine.set(line, { refusal, isHeld, unreachable })
  }
  return { judged, byLine }
}

const sumsOf = (lines: readonly ReadyLine[]) =>
  [...Map.groupBy(lines, ({ currency }) => currency)].map(([currency, own]) => ({
    currency,
    amount: own.reduce((sum, { amount }) => sum + amount, 0n),
  }))

function toCall(
  caller: Caller,
  { amount, currency, reference }: ParsedLine,
  beneficiaryId: string,
  bulk: { readonly id: string; readonly sums: readonly Money[] },
): PayoutCall {
  const sum = bulk.sums.find((each) => each.currency === currency)?.amount ?? amount
  return {
    ...{ caller, nonce: undefined, operation: 'createFiatPayout', idempotencyKey: null, requestFingerprint: '' },
    ...{ amount, currency, reference, ip: '', bulk: { ...bulk, sum }, payee: { beneficiaryId } },
  }
}

const isSameReference = (one: ReadyLine | undefined, other: ReadyLine | undefined): boolean =>
  normaliseReference(one?.reference ?? null) === normaliseReference(other?.reference ?? null)

const noDuplicates = { earlier: [], scheduled: [], lines: [] }

async function findDuplicates(
  { db, clock, payouts }: BulkCheckDeps,
  partnerId: string,
  key: string,
  lines: readonly ReadyLine[],
): Promise<ReadonlyMap<TypedLine, CheckedLine['duplicates']>> {
  const candidates = lines.map(({ amount, currency, reference, resolved, typed }) => {
    const account =
      resolved.kind === 'new' ? resolved.payee.account : (resolved.payee.iban ?? resolved.payee.domesticAccount ?? '')
    const own = { operation: 'createFiatPayout', idempotencyKey: lineKey(key, typed) } as const
    return { account, amount, currency, reference, key: own }
  })
  if (candidates.length === 0) return new Map()
  const found = await payouts.duplicatesOf(db, partnerId, candidates, clock.now())
  return new Map(
    lines.map(({ typed }, index) => {
      const { earlier = [], scheduled = [], positions = [] } = found[index] ?? {}
      // A file often has several invoices of the same amount with different references.
      const same = positions.flatMap((at) =>
        isSameReference(lines[at], lines[index]) ? (lines[at]?.typed.line ?? []) : [],
      )
      return [typed, { earlier, scheduled, lines: same }] as const
    }),
  )
}

/** Finds the bulks of the last months that have paid most of these lines, by the index of lines. */
async function earlierBulks(
  { db, clock }: Pick<BulkCheckDeps, 'db' | 'clock'>,
  partnerId: string,
  key: string,
  lines: readonly ReadyLine[],
): Promise<readonly EarlierBulk[]> {
  const digests = new Set(
    lines.map(({ resolved, ...line }) =>
      resolved.kind === 'saved' ? lineDigest({ ...line, beneficiaryId: resolved.payee.id }) : null,
    ),
  )
  const known = [...digests].filter((digest) => digest !== null)
  if (known.length === 0) return []
  const of =
    known.length + new Set(lines.flatMap(({ resolved }) => (resolved.kind === 'new' ? [resolved.payee.key] : []))).size
  const since = firstIdOf(after(clock.now(), -earlierDays * dayMs))
  const found = await store.bulksWithLines(
    db,
    partnerId,
    { key, digests: known, since, linesMin: Math.floor(of / 2) + 1 },
    earlierShown,
  )
  return found.map(({ same, ...bulk }) => ({ ...bulk, same: Number(same), of }))
}

/** Computes the digest of what a person sees. A request with another digest shows the check again. */
function digestOfCheck(
  lines: readonly CheckedLine[],
  newPayees: readonly CheckedPayee[],
  earlier: readonly EarlierBulk[],
): string {
  const payeeOf = (resolved: ResolvedPayee | undefined) => {
    if (resolved?.kind === 'saved') return [resolved.payee.id, resolved.payee.name]
    return resolved?.kind === 'new' ? [resolved.payee.key] : [resolved?.kind]
  }
  const shown = [
    lines.map(({ typed, resolved, refusal, duplicates }) => [
      ...[typed, payeeOf(resolved), refusal?.code],
      ...[[...duplicates.earlier, ...duplicates.scheduled].map(({ id }) => id), duplicates.lines],
    ]),
    newPayees.map(({ key, verification, refusal }) => [key, verification?.result, refusal?.code]),
    earlier.map(({ id, same }) => [id, same]),
  ]
  return createHash('sha256').update(JSON.stringify(shown)).digest('base64url')
}
