/**
 * Constraints that a race can violate. A race cannot violate a check of given values, on which rules.ts and the
 * statement agree. It can violate a check of a column that a statement computes from the current row (`posted = posted
 * + ...`): this file lists each with its outcome.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../service/src/postgres/index.ts'
import { addPartner, pay } from '../support/composition.ts'
import { useModules } from '../support/fixture.ts'
import { until } from '../support/until.ts'
import { readSources } from '../tidy/source.ts'

const service = await useModules()

/** Refusals of requests, by constraint. */
const outcomes: Readonly<Record<string, string>> = {
  accounts_judged_by_state: 'the transaction is repeated by the new state, and at last refused as overloaded',
  accounts_closed_is_empty: 'as accounts_judged_by_state: a change of state is counted',
  accounts_never_negative: 'the funds check decides again under the lock: insufficient_funds',
  party_accounts_never_negative: 'the funds check decides again under the lock: insufficient_funds',
  accounts_reserved_check: 'out of reach: a reserve ends once, by a unique constraint',
  identity_erasures_attempts_check: 'out of reach: it only grows',
  limit_counters_used_check: 'the counters are locked before the limit is judged again: payout_limit_exceeded',
  partners_subscriptions_check: 'out of reach: the statement that counts also compares the count',
  iban_blocks_next_number_check: 'out of reach: it only grows',
  iso_instructions_attempt_check: 'out of reach: it only grows',
  links_paid_count: 'out of reach: it only grows',
  messages_attempts_check: 'out of reach: it only grows',
  queue_attempt_count_check: 'out of reach: it only grows',
  queue_check: 'out of reach: the statement writes both of its columns',
  reports_attempts_check: 'out of reach: it only grows',
  returns_attempts_check: 'out of reach: it only grows',
  uploads_revision_check: 'out of reach: it only grows',
}
const counted = /\b([a-z_]+) = (?:coalesce\()?(?:[a-z_]+\.)?\1\b[^=\n]{0,12}[+-]/g
const changedTables = /\bupdate\s+(?:only\s+)?([a-z_]+\.[a-z_]+)/g

test('every check constraint of a computed column has a tested outcome', async () => {
  const columns = readSources()
    .filter(({ path }) => path.startsWith('service/src/') && !path.endsWith('.test.ts'))
    .flatMap(({ templates }) => templates.map(({ text }) => text))
    .flatMap((text) =>
      [...text.matchAll(changedTables)].flatMap(([, table]) =>
        [...text.matchAll(counted)].map(([, column]) => ({ table, column: column ?? '' })),
      ),
    )
  assert.ok(columns.length > 10, 'the statements were read')
  const checks = await service.db.rows<{ table: string; name: string; text: string }>(sql`
    select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as text
    from pg_constraint where contype = 'c' and connamespace::regnamespace::text not in ('pg_catalog', 'information_schema')`)
  const reachable = checks.filter(({ table, text }) =>
    columns.some((each) => each.table === table && new RegExp(`\\b${each.column}\\b`).test(text)),
  )
  assert.deepEqual(reachable.map(({ name }) => name).toSorted(), Object.keys(outcomes).toSorted())
})

test('a payout is accepted although the state of the account changes before each of its attempts', async () => {
  const partner = await addPartner(service, 10_000n)
  const { partnerId } = partner
  const waiting = async () =>
    (
      await service.db.row<{ count: bigint }>(
        sql`select count(*) as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      )
    )?.count ?? 0n
  const attemptsMet = 4
  /**
   * Returns the number of attempts of one payout that found a change. On a busy machine the payout can be faster than
   * the next change.
   */
  const meet = async (): Promise<number> => {
    let paid = false
    let paying: Promise<unknown> | undefined
    let met = 0
    // Each round locks the balance until the payout has checked the state and waits for the lock, and then counts a
    // change.
    for (; met < attemptsMet && !paid; met += 1)
      await service.db.transaction(async (tx) => {
        await service.ledger.countBlock(tx, partnerId)
        paying ??= pay(service, partner, '1.00').then(({ payout }) => {
          paid = true
          return payout.status
        })
        await until(`attempt ${met} waits`, async () => paid || (await waiting()) > 0n)
      })
    assert.equal(await paying, 'Pending')
    return met
  }
  await until('each attempt of one payout met a change', async () => (await meet()) === attemptsMet)
})
