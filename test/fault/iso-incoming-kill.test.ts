/**
 * SIGKILL of the process that takes the files of a bank, at each boundary of a commit and of an operation on a file; a new process
 * continues. Each booking counts once, each payment ends as the bank says, each oddity has one case, and every file is in the archive.
 */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BankEntry, EntryDetail } from '../../service/src/iso20022/index.ts'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { scaled } from '../support/faults.ts'
import {
  type BankFolders,
  casesOf,
  createBankFolders,
  createIncomingBank,
  entryOf,
  euro,
  markFiled,
  reportXml,
  statusXml,
} from '../support/iso-incoming.ts'
import { pluck } from '../support/pluck.ts'
import { zipOf } from '../support/zip.ts'

/** Fewer points mean that the child took no files, or that its operations are not counted. */
const pointsMin = 40
/** The long form has more than a page. */
const creditsCount = scaled(20, 1010)
const floatMinor = 1_000_00n
/**
 * The files pass the same kinds of commits, about a dozen points each: a kill in most files is enough. Odd, so that the kills
 * alternate between before and after a commit.
 */
const shares = 15

async function putFiles(service: Service, folders: BankFolders, partner: TestPartner) {
  const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
  const details = [{ references: {}, creditorAccount: { iban: ibans[0].iban } }]
  const credits = Array.from({ length: creditsCount }, () => entryOf(1n, { details }))
  const [paid, refused, lost] = await Promise.all(
    ['10.00', '11.00', '12.00'].map(async (amount) => (await pay(service, partner, amount)).payout),
  )
  assert.ok(paid && refused && lost)
  await submitDuePayouts(createIncomingBank(service, folders).settlement)
  const { messageId, batchId } = await markFiled(service)
  const debit = entryOf(-10_00n, { details: [{ references: { instructionId: paid.endToEndId } }] })
  const sum = entryOf(7n, { details: [], bankReference: 'SUM', batches: [{ count: 2 }] })
  const named = [3n, 4n].map((minor) => ({ ...details[0], charges: [], references: {}, amount: euro(minor) }))
  const announced = reportXml([...credits.slice(0, 5), debit], { messageId: 'ANNOUNCED' })
  const closing = BigInt(creditsCount) + 7n
  await folders.put('a.xml', announced)
  await folders.put('b.xml', announced)
  await folders.put(
    'c.xml',
    reportXml([...credits, debit, sum], { kind: 'camt.053', opening: 10_00n, closing, sequence: 1 }),
  )
  // A correction, which omits a credit.
  const corrected = { kind: 'camt.053', closing: closing - 1n, sequence: 1, messageId: 'CORRECTED' } as const
  await folders.put('g.xml', reportXml([...credits.slice(0, -1), debit, sum], { opening: 10_00n, ...corrected }))
  await folders.put('e.xml', reportXml(credits.slice(0, 1), { messageId: 'ANNOUNCED' }))
  await folders.put('f.xml', 'garbage')
  const transfers = [{ instructionId: refused.endToEndId, status: 'RJCT', reasons: [{ code: 'AC04', texts: [] }] }]
  const documents = [
    reportXml([{ ...sum, details: named }]),
    statusXml(messageId, { batches: [{ batchId, reasons: [], transfers }] }),
  ]
  await folders.put('d.zip', zipOf(documents.map((text, at) => ({ name: `${at}.xml`, bytes: Buffer.from(text) }))))
  return { paid, refused, lost }
}

async function check(service: Service, folders: BankFolders, partner: TestPartner): Promise<void> {
  const { db } = service
  const entries = await db.rows(sql`
    select kind, status, count(*)::integer as count, sum(amount)::bigint as sum, count(statement_id)::integer as linked
    from rails.iso_entries group by kind, status order by kind`)
  const count = creditsCount + 2
  assert.deepEqual(entries, [
    { kind: 'credit', status: 'Applied', count, sum: BigInt(creditsCount) + 7n, linked: count - 1 },
    { kind: 'payout', status: 'Applied', count: 1, sum: -10_00n, linked: 1 },
  ])
  const posted = floatMinor + BigInt(creditsCount) + 7n - 10_00n
  assert.deepEqual(await balanceOf(service, partner.partnerId), {
    posted,
    reserved: 12_00n,
    available: posted - 12_00n,
  })
  const payouts = await db.rows<{ status: string }>(sql`select status from payouts.payouts order by amount`)
  assert.deepEqual(pluck(payouts, 'status'), ['Completed', 'Failed', 'Processing'])
  const kinds = (await casesOf(service)).map(({ kind }) => kind).toSorted()
  assert.deepEqual(kinds, ['file_unreadable', 'message_differs', 'statement_overlap'])
  assert.deepEqual(await folders.left(), [])
  const archived = async (state: string) =>
    (await readdir(join(folders.archive, state), { recursive: true })).length - 1
  // The repeated file has the bytes of the first one. The container is kept beside its two documents.
  assert.deepEqual([await archived('taken'), await archived('aside')], [6, 2])
  const messages = await db.rows(sql`
    select state, count(*)::integer as count from rails.iso_messages where state <> 'Repeated' group by state order by state`)
  assert.deepEqual(messages, [
    { state: 'Aside', count: 2 },
    { state: 'Taken', count: 5 },
  ])
}

test('a process killed at any point applies each booking exactly once', async (t) => {
  await killAtCrashPoints(t, { worker: 'incoming files', pointsMin, shares }, async (runWorker) => {
    const service = await createTestService({ chooseConnector: () => 'iso20022' })
    const folders = await createBankFolders()
    try {
      const partner = await addPartner(service, floatMinor)
      await putFiles(service, folders, partner)
      await runWorker(service, { root: folders.root })
      // The lease of the killed process ends.
      service.clock.advance(minuteMs)
      await createIncomingBank(service, folders).work()
      await check(service, folders, partner)
    } finally {
      await service.close()
      await folders.remove()
    }
  })
})

/** Two credits are announced; the statement lists three sums that may be any of them, and is read twice for that. */
async function putEqualSums(folders: BankFolders, iban: string) {
  const unnamed = (details: readonly Partial<EntryDetail>[]): BankEntry => {
    const { bankReference: _none, ...entry } = entryOf(5n, { details })
    return entry
  }
  const named = ['A', 'B'].map((endToEndId) => unnamed([{ references: { endToEndId }, creditorAccount: { iban } }]))
  const others = Array.from({ length: creditsCount }, () => entryOf(1n, { details: [{ creditorAccount: { iban } }] }))
  const listed = [unnamed([]), ...others, unnamed([]), unnamed([])]
  const closing = floatMinor + BigInt(creditsCount) + 15n
  const statement = { kind: 'camt.053', opening: floatMinor, closing, statementId: 'S' } as const
  await folders.put('a.xml', reportXml(named))
  await folders.put('b.xml', reportXml(listed, statement))
  await folders.put('c.xml', reportXml(listed, statement))
}

test('a process killed at any point counts each of several equal sums once', async (t) => {
  await killAtCrashPoints(t, { worker: 'incoming files', pointsMin: 20 }, async (runWorker) => {
    const service = await createTestService({ chooseConnector: () => 'iso20022' })
    const folders = await createBankFolders()
    try {
      const { partnerId, customer } = await addPartner(service, floatMinor)
      const { ibans } = await service.accounts.create(partnerId, customer.id)
      await putEqualSums(folders, ibans[0].iban)
      await runWorker(service, { root: folders.root })
      service.clock.advance(minuteMs)
      await createIncomingBank(service, folders).work()
      const rows = await service.db.rows(sql`
        select kind, count(*)::integer as count, count(statement_id)::integer as linked from rails.iso_entries
        where amount = 5 group by kind order by kind`)
      assert.deepEqual(rows, [
        { kind: 'credit', count: 2, linked: 2 },
        { kind: 'waiting', count: 1, linked: 1 },
      ])
      assert.equal((await balanceOf(service, partnerId)).posted, floatMinor + BigInt(creditsCount) + 10n)
    } finally {
      await service.close()
      await folders.remove()
    }
  })
})
