/**
 * Idempotency keys in a batch: a key with a row is answered by that row, each other key runs once, and its duplicates
 * get the answer of the first call. Payouts do the same with their own rows.
 */
import { Refusal } from '../kernel/api/index.ts'
import { partnerKey, present } from '../kernel/index.ts'
import { asInProgress, type Keyed, replayOf } from '../postgres/index.ts'

/** `idempotencyKey`: null if the request has none. */
type WithKey = { readonly partnerId: string; readonly idempotencyKey: string | null }
export type KeyedCall = WithKey & { readonly requestFingerprint: string }

export type Made<Row> = { readonly row: Row; readonly replayed: boolean }
/** `resubmit`: an earlier call of the batch was in the way. The call must be submitted again. */
export type Outcome<Row> = Made<Row> | Refusal | 'resubmit'

/** Undefined without a key. */
const mapKeyOf = ({ partnerId, idempotencyKey }: WithKey) =>
  idempotencyKey === null ? undefined : partnerKey(partnerId, idempotencyKey)

/** The keys of a batch, by which their rows are found. */
export const keysOf = (calls: readonly KeyedCall[]) =>
  calls.flatMap(({ partnerId, idempotencyKey }) => (idempotencyKey === null ? [] : [{ partnerId, idempotencyKey }]))

type Batch<Call, Row> = {
  readonly calls: readonly Call[]
  /** The rows of the keys of the batch, and possibly others. */
  readonly found: readonly Row[]
  readonly keyed: (row: Row) => WithKey & Keyed
  /** Pointer to the key in the request. */
  readonly pointer: string
  /** Answers the first call of each free key and every call without a key. */
  readonly work: (firstCalls: readonly Call[]) => Promise<ReadonlyMap<Call, Outcome<Row>>>
}

/** Answers every call, in order. Refuses: idempotency_key_reused, and what `work` refuses. */
export async function answerOnce<Call extends KeyedCall, Row>({
  calls,
  found,
  keyed,
  pointer,
  work,
}: Batch<Call, Row>): Promise<readonly Outcome<Row>[]> {
  const rows = new Map(found.map((row) => [mapKeyOf(keyed(row)), row]))
  const firstByKey = new Map<string, Call>()
  const firstCalls = calls.filter((call) => {
    const key = mapKeyOf(call)
    if (key === undefined) return true
    if (rows.has(key) || firstByKey.has(key)) return false
    firstByKey.set(key, call)
    return true
  })
  const outcomes = firstCalls.length > 0 ? await work(firstCalls) : new Map<Call, Outcome<Row>>()
  const replay = (row: Row, { requestFingerprint }: Call): Outcome<Row> => {
    try {
      replayOf(keyed(row), requestFingerprint, pointer)
      return { row, replayed: true }
    } catch (error) {
      if (error instanceof Refusal) return error
      throw error
    }
  }
  return calls.map((call) => {
    const own = outcomes.get(call)
    if (own !== undefined) return own
    const key = present(mapKeyOf(call), 'a call without a key is a first call')
    const row = rows.get(key)
    if (row !== undefined) return replay(row, call)
    const first = present(firstByKey.get(key), 'a duplicate shares its key with an earlier call')
    const outcome = present(outcomes.get(first), 'the first call of a key has an answer')
    return outcome instanceof Refusal || outcome === 'resubmit' ? 'resubmit' : replay(outcome.row, call)
  })
}

/** Submits a call until it is answered. Refuses: request_in_progress, and what the batch refuses. */
export async function submitUntilAnswered<Call, Row>(
  batched: (call: Call) => Promise<Outcome<Row>>,
  call: Call,
): Promise<Made<Row>> {
  for (;;) {
    const outcome = await batched(call).catch((error: unknown) => {
      throw asInProgress(error)
    })
    if (outcome instanceof Refusal) throw outcome
    if (outcome !== 'resubmit') return outcome
  }
}
