/** Writes the file of one claimed report: reads the content, formats it, and keeps the lease meanwhile. */
import { after, type Clock, secondMs } from '../../kernel/index.ts'
import type { Cases } from '../../cases/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { type Customers, nameOf } from '../customers/index.ts'
import type { DocumentBrand } from '../../typesetting/index.ts'
import type { Transactions } from '../transactions/index.ts'
import type { Content, Head } from './contents/content.ts'
import { fees } from './contents/fees.ts'
import { reconciliation } from './contents/reconciliation.ts'
import { statement } from './contents/statement.ts'
import { transactions } from './contents/transactions.ts'
import { createFileWriter, LeaseLost } from './file.ts'
import { camt053 } from './formats/camt053.ts'
import { csv } from './formats/csv.ts'
import { jsonl } from './formats/jsonl.ts'
import { pdf } from './formats/pdf.ts'
import * as store from './store.ts'

export type WriteDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly ledger: Ledger
  readonly cases: Pick<Cases, 'openAt'>
  readonly customers: Pick<Customers, 'find'>
  readonly transactions: Pick<Transactions, 'asOf' | 'namesOf' | 'withUsers'>
  readonly partnerName: (tx: Tx, partnerId: string) => Promise<string>
  readonly brandOf: (partnerId: string) => Promise<DocumentBrand | undefined>
}

/** Far above the longest statement (16 s): only a worker that ended or hangs loses its lease. */
export const leaseMs = 60 * secondMs
/** Interval of lease renewals, and of recording `progress`. */
const renewalMs = 2 * secondMs

const formats = { csv, jsonl, pdf, 'camt.053': camt053('08'), 'camt.053.001.02': camt053('02') } as const

/** Throws LeaseLost, and ReportImpossible if no attempt can succeed. */
export async function writeReport(deps: WriteDeps, claimed: store.ReportRow): Promise<store.Finished> {
  const { db, clock } = deps
  const { periodFrom, periodTo } = claimed
  const lengthMs = periodTo.getTime() - periodFrom.getTime()
  let percent = 0
  const reached = (moment: Date) => {
    const done = ((moment.getTime() - periodFrom.getTime()) / lengthMs) * 100
    percent = Math.max(percent, Math.min(99, Math.floor(done)))
  }
  const content = await contentOf(deps, claimed, reached)
  let rows = 0n
  const counted: Content = {
    ...content,
    rows: async function* countedRows() {
      for await (const part of content.rows()) {
        rows += BigInt(part.length)
        yield part
      }
    },
  }
  const file = createFileWriter(db, claimed)
  let renewed = performance.now()
  for await (const text of formats[claimed.format](counted, (lines) => (rows = BigInt(lines)))) {
    await file.write(text)
    if (performance.now() - renewed < renewalMs) continue
    if ((await store.renewLease(db, claimed, after(clock.now(), leaseMs), percent)) === 0) throw new LeaseLost()
    renewed = performance.now()
  }
  return { rows, ...(await file.end()) }
}

async function contentOf(
  deps: WriteDeps,
  { partnerId, kind, format, currency, customerId, periodFrom, periodTo }: store.ReportRow,
  reached: (moment: Date) => void,
): Promise<Content> {
  const { db, customers, partnerName, brandOf } = deps
  const customer = customerId === null ? undefined : await customers.find(db, partnerId, customerId)
  const head: Head = {
    kind,
    currency,
    period: { from: periodFrom, to: periodTo },
    partnerName: await partnerName(db, partnerId),
    brand: format === 'pdf' ? await brandOf(partnerId) : undefined,
    customer: customer && { id: customer.id, name: nameOf(customer) },
  }
  switch (kind) {
    case 'statement':
      return statement({ ...deps, reached }, partnerId, head)
    case 'fees':
      return fees({ ...deps, reached }, partnerId, head)
    case 'transactions':
      return transactions(deps.transactions, partnerId, head, reached)
    case 'reconciliation':
      return reconciliation({ ...deps, reached }, partnerId, head)
  }
}
