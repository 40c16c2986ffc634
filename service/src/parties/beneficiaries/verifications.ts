/** The verbs of verification of payee: asks, and keeps each answer as evidence. */
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
  /** Asks now and keeps the answer. A repeated call asks again. Refuses: validation_failed (iban). */
  readonly verify: (caller: Caller, input: BodyOf<'createBeneficiaryVerification'>) => Promise<VerificationRow>
  /** Refuses: not_found. */
  readonly getVerification: (partnerId: string, id: string) => Promise<VerificationRow>
  /** Newest first. Refuses: validation_failed (cursor, iban). */
  readonly listVerifications: (
    partnerId: string,
    query: QueryOf<'listBeneficiaryVerifications'>,
  ) => Promise<Page<VerificationRow>>
  /** The newest answer for the present name and IBAN. Refuses: not_found (the beneficiary, or no such answer). */
  readonly verificationOf: (partnerId: string, beneficiaryId: string) => Promise<VerificationRow>
  /** Returns the evidence about a name and an IBAN at a moment, for payouts. */
  readonly evidenceFor: (
    tx: Tx,
    partnerId: string,
    payee: { readonly name: string; readonly iban: string },
    moment: Date,
  ) => Promise<VerificationRow | undefined>
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
      const row = await askAbout({ clock, verification }, caller, { name, iban })
      await db.transaction((tx) => keep(tx, caller.partnerId, row))
      return row
    },
    getVerification: async (partnerId, id) => found(await store.verificationById(db, partnerId, id)),
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
      return found(
        iban === null ? undefined : await store.verificationOfPayee(db, partnerId, { name, iban }, undefined),
      )
    },
    evidenceFor: store.verificationOfPayee,
  }
}

/** Runs outside any transaction: a scheme may need its whole time limit. */
export async function askAbout(
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
    // The clock may have been put back since.
    answeredAt: new Date(Math.max(clock.now().getTime(), requestedAt.getTime())),
  }
}

const checks = { Match: 'match', CloseMatch: 'close_match', NoMatch: 'no_match' } as const

/** Notes an answer with beneficiaries that the caller has locked. An answer that says nothing about the name leaves what is known. */
export async function noteAnswer(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
  result: VerificationRow['result'],
): Promise<void> {
  if (result !== 'NotPossible') await beneficiaries.putCheck(tx, partnerId, ids, checks[result])
}

/** Stores an answer. It is the newest one about each beneficiary with the name and the account. */
async function keep(tx: Tx, partnerId: string, row: VerificationRow): Promise<void> {
  await store.insertVerification(tx, partnerId, row)
  if (isUnanswered(row)) return
  const ids = await beneficiaries.lockPayees(tx, partnerId, row)
  if (ids.length === 0) return
  await store.storeAnswers(tx, partnerId, ids, row)
  await noteAnswer(tx, partnerId, ids, row.result)
}

type Named = { readonly id: string; readonly name: string; readonly iban: string | null }

async function adopt(tx: Tx, partnerId: string, { id, name, iban }: Named): Promise<VerificationRow | undefined> {
  const row = iban === null ? undefined : await store.verificationOfPayee(tx, partnerId, { name, iban }, undefined)
  if (row !== undefined) await store.storeAnswers(tx, partnerId, [id], row)
  return row
}

/** Adopts the answer for a name and an account that were verified before a beneficiary got them. */
export async function adoptAnswer(tx: Tx, partnerId: string, named: Named): Promise<void> {
  const row = await adopt(tx, partnerId, named)
  if (row !== undefined) await noteAnswer(tx, partnerId, [named.id], row.result)
}

/** Asks for a renewal if there is an answer about the earlier name. The caller has locked the beneficiary. */
export async function requestRenewal(
  tx: Tx,
  partnerId: string,
  { id, name, iban }: Named,
  earlierName: string,
  now: Date,
): Promise<void> {
  if ((await store.requestRenewal(tx, partnerId, id, now)) > 0) return
  // Verified by a process of the version before, or while the beneficiary was created.
  if (await adopt(tx, partnerId, { id, name: earlierName, iban })) await store.requestRenewal(tx, partnerId, id, now)
  else await adoptAnswer(tx, partnerId, { id, name, iban })
}

function found(row: VerificationRow | undefined): VerificationRow {
  if (row === undefined) throw notFound('verification')
  return row
}

type Result = store.VerificationRow['result']

/** Delays between attempts while the scheme does not answer. After the last one the answer is `NotPossible`. */
const retryDelaysMs = [minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 4 * hourMs, 12 * hourMs]

/** `attempts`: the number that failed. Undefined: it is not tried again. */
export const retryDelayAfter = (attempts: number): number | undefined => retryDelaysMs[attempts - 1]

/** The scheme did not answer, and may answer later. */
export const isUnanswered = ({ reason }: Pick<store.VerificationRow, 'reason'>): boolean =>
  reason === 'SchemeTimeout' || reason === 'SchemeUnavailable'

const goodness: Readonly<Record<Result, number | undefined>> = {
  Match: 2,
  CloseMatch: 1,
  NoMatch: 0,
  NotPossible: undefined,
}

/** `NotPossible` says nothing about the payee: it is neither worse nor better. */
export function isWorse(answer: Result, before: Result): boolean {
  const [now, then] = [goodness[answer], goodness[before]]
  return now !== undefined && then !== undefined && now < then
}
