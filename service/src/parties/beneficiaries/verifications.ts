/** The operations of verification of payee, which store each answer as evidence. */
import type { BodyOf, QueryOf } from '@partner-payments/wire'
import { type Caller, type Cursors, notFound, type Page } from '../../kernel/api/index.ts'
import { type Clock, hourMs, minuteMs, newId } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { Verification } from '../payee-check/index.ts'
import { readIban } from './rules.ts'
import * as beneficiaries from './store.ts'
import * as store from './store-verifications.ts'

export type VerificationRow = store.VerificationRow

export type Verifications = {
  /**
   * Sends a request to the scheme and stores the answer. Each call sends a new request. Refuses: validation_failed
   * (iban).
   */
  readonly verify: (caller: Caller, input: BodyOf<'createBeneficiaryVerification'>) => Promise<VerificationRow>
  /** Reads a verification. Refuses: not_found. */
  readonly getVerification: (partnerId: string, id: string) => Promise<VerificationRow>
  /** Lists verifications, newest first. Refuses: validation_failed (cursor, iban). */
  readonly listVerifications: (
    partnerId: string,
    query: QueryOf<'listBeneficiaryVerifications'>,
  ) => Promise<Page<VerificationRow>>
  /** Reads the newest answer for the current name and IBAN. Refuses: not_found (the beneficiary, or no answer). */
  readonly verificationOf: (partnerId: string, beneficiaryId: string) => Promise<VerificationRow>
  /** Reads the evidence about a name and an IBAN at a given time, for payouts. */
  readonly evidenceFor: typeof store.verificationOfPayee
}

export type VerificationsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly verification: Verification
}

export function createVerifications({ db, clock, cursors, verification }: VerificationsDeps): Verifications {
  return {
    verify: async (caller, { name, iban: given }) => {
      const iban = readIban(given, '/iban')
      const row = await requestVerification({ clock, verification }, caller, { name, iban })
      await db.transaction((tx) => storeAnswer(tx, caller.partnerId, row))
      return row
    },
    getVerification: async (partnerId, id) => requireVerification(await store.verificationById(db, partnerId, id)),
    listVerifications: async (partnerId, query) => {
      const list = `verifications:${partnerId}`
      const request = cursors.read(list, query)
      const iban = query.iban === undefined ? undefined : readIban(query.iban, '/query/iban')
      return cursors.page(list, request, await store.listVerifications(db, partnerId, iban, request))
    },
    verificationOf: async (partnerId, beneficiaryId) => {
      const beneficiary = await beneficiaries.byId(db, partnerId, beneficiaryId)
      if (beneficiary === undefined) throw notFound('beneficiary')
      const { name, iban } = beneficiary
      return requireVerification(
        iban === null ? undefined : await store.verificationOfPayee(db, partnerId, { name, iban }, undefined),
      )
    },
    evidenceFor: store.verificationOfPayee,
  }
}

/** Sends the request outside of any transaction, because a scheme may need its whole time limit. */
export async function requestVerification(
  { clock, verification }: Pick<VerificationsDeps, 'clock' | 'verification'>,
  caller: Pick<Caller, 'serviceAccountId' | 'name'>,
  payee: { readonly name: string; readonly iban: string },
): Promise<VerificationRow> {
  const requestedAt = clock.now()
  const answer = await verification.ask(payee)
  return {
    id: newId(),
    ...payee,
    result: answer.result,
    matchedName: answer.result === 'CloseMatch' ? answer.matchedName : null,
    reason: answer.result === 'NotPossible' ? answer.reason : null,
    source: answer.source,
    schemeReference: answer.schemeReference,
    requestedBy: caller.serviceAccountId,
    requestedByName: caller.name,
    requestedAt,
    // The clock may have been set back meanwhile.
    answeredAt: new Date(Math.max(clock.now().getTime(), requestedAt.getTime())),
  }
}

const checks = { Match: 'match', CloseMatch: 'close_match', NoMatch: 'no_match' } as const

/**
 * Records an answer for beneficiaries that the caller has locked. `NotPossible` does not replace their earlier result.
 */
export async function recordAnswer(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
  result: VerificationRow['result'],
): Promise<void> {
  if (result !== 'NotPossible') await beneficiaries.setCheckResults(tx, partnerId, ids, checks[result])
}

/** Stores an answer, which becomes the newest one of each beneficiary with the name and the account. */
async function storeAnswer(tx: Tx, partnerId: string, row: VerificationRow): Promise<void> {
  await store.insertVerification(tx, partnerId, row)
  if (isUnanswered(row)) return
  const ids = await beneficiaries.lockPayees(tx, partnerId, row)
  if (ids.length === 0) return
  await store.storeAnswers(tx, partnerId, ids, row)
  await recordAnswer(tx, partnerId, ids, row.result)
}

type NamedAccount = { readonly id: string; readonly name: string; readonly iban: string | null }

async function adopt(
  tx: Tx,
  partnerId: string,
  { id, name, iban }: NamedAccount,
): Promise<VerificationRow | undefined> {
  const row = iban === null ? undefined : await store.verificationOfPayee(tx, partnerId, { name, iban }, undefined)
  if (row !== undefined) await store.storeAnswers(tx, partnerId, [id], row)
  return row
}

/** Adopts the answer about a name and an account that were verified before the beneficiary existed. */
export async function adoptAnswer(tx: Tx, partnerId: string, named: NamedAccount): Promise<void> {
  const row = await adopt(tx, partnerId, named)
  if (row !== undefined) await recordAnswer(tx, partnerId, [named.id], row.result)
}

/** Requests a renewal if there is an answer about the earlier name. The caller has locked the beneficiary. */
export async function requestRenewal(
  tx: Tx,
  partnerId: string,
  { id, name, iban }: NamedAccount,
  earlierName: string,
  now: Date,
): Promise<void> {
  if ((await store.requestRenewal(tx, partnerId, id, now)) > 0) return
  // Verified by a process of the previous version, or while the beneficiary was created.
  if (await adopt(tx, partnerId, { id, name: earlierName, iban })) await store.requestRenewal(tx, partnerId, id, now)
  else await adoptAnswer(tx, partnerId, { id, name, iban })
}

function requireVerification(row: VerificationRow | undefined): VerificationRow {
  if (row === undefined) throw notFound('verification')
  return row
}

type Result = store.VerificationRow['result']

/** Delays between attempts while the scheme does not answer. After the last attempt the answer is `NotPossible`. */
const retryDelaysMs = [minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 4 * hourMs, 12 * hourMs]

/** Returns the delay after a number of failed attempts. Undefined: there is no further attempt. */
export const retryDelayAfter = (attempts: number): number | undefined => retryDelaysMs[attempts - 1]

/** Reports whether the scheme did not answer but may answer later. */
export const isUnanswered = ({ reason }: Pick<store.VerificationRow, 'reason'>): boolean =>
  reason === 'SchemeTimeout' || reason === 'SchemeUnavailable'

const goodness: Readonly<Record<Result, number | undefined>> = {
  Match: 2,
  CloseMatch: 1,
  NoMatch: 0,
  NotPossible: undefined,
}

/** Compares two results. `NotPossible` does not rate the payee, so it is neither worse nor better. */
export function isWorse(answer: Result, before: Result): boolean {
  const [now, then] = [goodness[answer], goodness[before]]
  return now !== undefined && then !== undefined && now < then
}
