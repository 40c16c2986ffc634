/** The cases of a run: those that have to be there are, no others, and two persons resolve them. */
import assert from 'node:assert/strict'
import { secondMs } from '../../../service/src/kernel/index.ts'
import { sql } from '../../../service/src/postgres/index.ts'
import { actionOf, type Finding } from '../../support/iso-oddities.ts'
import type { Run } from './run.ts'

export type Case = {
  readonly partnerId: string
  readonly id: string
  readonly kind: string
  readonly booked: bigint | null
  readonly report: string
  readonly resolution: string | null
}

export const casesOf = ({ service: { db } }: Run) =>
  db.rows<Case>(sql`select partner_id, id, kind, booked, report, resolution from cases.cases order by opened_at, id`)

/** A contradiction has money if the rejection came first: files come in any order. */
const lineOf = ({ kind, booked }: Finding) => (kind === 'contradiction' ? kind : `${kind} ${booked ?? ''}`)

/** The amounts of payments that were rejected before they were booked: they have failed, and what left stands in suspense. */
export const rejectedFirst = async (run: Run): Promise<ReadonlySet<bigint>> =>
  new Set(
    (await casesOf(run)).flatMap(({ kind, booked }) => (kind === 'contradiction' && booked !== null ? [-booked] : [])),
  )

/** Each finding has its case, and each case was ordered. */
export async function checkCases(run: Run, findings: readonly Finding[], names: readonly string[]): Promise<void> {
  const cases = await casesOf(run)
  assert.deepEqual(
    cases.map(lineOf).toSorted(),
    findings.map(lineOf).toSorted(),
    'each oddity has its case, and no other',
  )
  // A file that was false is named by its case.
  for (const name of names)
    assert.ok(
      cases.some(({ report }) => report.includes(name)),
      `a case names the file ${name}`,
    )
}

/** `payouts`: which payout a debit without its reference was for, by its amount. */
export async function resolveCases(
  run: Run,
  payouts: ReadonlyMap<bigint, { readonly partnerId: string; readonly id: string }>,
) {
  const { service, partners } = run
  for (const found of (await casesOf(run)).filter(({ resolution }) => resolution === null)) {
    const { partnerId, id, kind, booked } = found
    const payout = kind === 'unknown_debit' && booked !== null ? payouts.get(-booked) : undefined
    const isBare = booked === null && actionOf[kind] !== undefined
    const usual = isBare ? 'note' : actionOf[kind]
    const action = payout === undefined ? usual : 'match'
    if (action === undefined) continue
    const named =
      action === 'match'
        ? { payoutId: payout?.id ?? '', toPartnerId: payout?.partnerId ?? '' }
        : action === 'credit'
          ? { toPartnerId: partners[0]?.partnerId ?? '' }
          : {}
    const proposing = { partnerId, id, action, staff: 'Ada', note: 'As the bank has told.', ...named }
    const proposed = await service.db.transaction((tx) => service.decisions.propose(tx, proposing))
    if (proposed.resolution === null)
      await service.db.transaction((tx) => service.decisions.approve(tx, { partnerId, id, staff: 'Grace' }))
  }
  // Looks come each half minute at most; what resolves itself does so with the next ones.
  for (let look = 0; look < 3; look += 1) {
    service.clock.advance(61 * secondMs)
    await service.reconciliation.step()
  }
  assert.deepEqual(
    (await casesOf(run)).filter(({ resolution }) => resolution === null),
    [],
    'every case is resolved',
  )
}
