import assert from 'node:assert/strict'
import { test } from 'node:test'
import { viewOf } from '../../../../test/support/console-pages.ts'
import { explain } from '../../transactions/index.ts'
import { payoutPreviewPage } from './new-payout.ts'
import { exportRowsMax, transactionsCsv } from './transaction-export.ts'

type Read = Parameters<typeof transactionsCsv>[0]
const row = { reference: 'R', category: 'Deposit', direction: 'Inward', status: 'Pending', amount: '1.00' }
const pageOf = (count: number, nextCursor: string | null) =>
  ({ data: Array.from({ length: count }, () => row), nextCursor }) as unknown as Awaited<ReturnType<Read>>

test('a file has every page up to the bound, and more rows are refused before all are read', async () => {
  const cursors: (string | undefined)[] = []
  const read =
    (pages: number, rows: number): Read =>
    async (cursor) => {
      cursors.push(cursor)
      const at = Number(cursor ?? 0) + 1
      return pageOf(rows, at < pages ? String(at) : null)
    }
  const whole = await transactionsCsv(read(exportRowsMax / 100, 100))
  assert.equal(whole?.trimEnd().split('\r\n').length, exportRowsMax + 1)
  cursors.length = 0
  assert.equal(await transactionsCsv(read(1_000_000, 100)), undefined)
  assert.equal(cursors.length, exportRowsMax / 100 + 1)
  assert.equal((await transactionsCsv(read(1, 0)))?.trimEnd().split('\r\n').length, 1)
})

test('a feed whose last page is empty and has a cursor ends', async () => {
  let reads = 0
  const text = await transactionsCsv(async () => pageOf(reads++ === 0 ? 2 : 0, 'more'))
  assert.equal(reads, 2)
  assert.equal(text?.trimEnd().split('\r\n').length, 3)
})

test('the preview explains itself in the language of the page', () => {
  const english = 'It waits for the approval of a second person.'
  const draft = {
    beneficiaryId: 'b',
    amount: '1.00',
    currency: 'EUR',
    reference: 'R',
    idempotencyKey: 'k',
    note: '',
    payOn: '',
  }
  const preview = (language: 'en' | 'de') =>
    payoutPreviewPage(viewOf(language), {
      ...{ ...draft, payee: 'P', payeeAccount: 'A', accepted: true, isLater: false, needsApproval: true, problems: {} },
      ...{ fee: '0.00', total: '1.00' },
      rules: [{ rule: 'approval', verdict: 'passed', detail: english, hold: explain({ kind: 'approval', by: null }) }],
    })
  assert.match(preview('en'), /It waits for the approval/)
  assert.match(preview('de'), /Eine zweite Person Ihres Teams muss die Auszahlung freigeben/)
  assert.match(preview('de'), /lang="en">It waits for the approval/)
})
