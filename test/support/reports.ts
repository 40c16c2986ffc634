/** Shared parts of tests of reports: the worker on a test service, movements of its ledger, and the bytes of a report. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { BodyOf } from '@partner-payments/wire'
import { validateXML } from 'xmllint-wasm'
import { type Currency, newId } from '../../service/src/kernel/index.ts'
import { type AccountName, singleEntry } from '../../service/src/ledger/index.ts'
import { createReportWork } from '../../service/src/reports/index.ts'
import { createTestService, type Service, type TestServiceOptions } from './composition.ts'

export const keptDays = 30

/** A service whose clock is the one that makes the ids, because the ledger tells the time by them. */
export const createReportService = (options: TestServiceOptions = {}) =>
  createTestService({ now: new Date(), ...options })

export function reportWork(service: Service, mailed: unknown[] = []) {
  const { access, mailQueue, users } = service
  return createReportWork({
    ...service,
    mail: {
      enqueue: async (tx, partnerId, mails) => {
        mailed.push(...mails)
        await mailQueue.enqueue(tx, partnerId, mails)
      },
    },
    membersByAddress: users.membersByAddress,
    partnerName: access.partnerName,
    brandOf: service.checkout.documentBrand,
    keptDays,
    clockDifferenceMsMax: 0,
    publicUrl: 'https://pay.example',
  })
}

export type Movement = {
  readonly amount: bigint
  readonly from?: AccountName
  readonly to?: AccountName
  readonly currency?: Currency
  readonly partyId?: string
  readonly reference?: string
}

/** Books direct transfers, by default from the bank to the balance. Each has an entry of its own. */
export async function book(service: Service, partnerId: string, movements: readonly Movement[]): Promise<void> {
  for (const { amount, from = 'settlement.bank', to = 'balance', currency = 'EUR', ...rest } of movements)
    await service.db.transaction(async (tx) => {
      const { partyId = partnerId, reference = `r-${newId()}` } = rest
      const transfer = { partnerId, partyId, reference, currency, amount, debit: from, credit: to }
      await service.ledger.enter(tx, singleEntry('bank', transfer))
    })
}

/** The clock of the tests stands still; the ids go on. */
export function now(service: Service): Date {
  const moment = new Date(Date.now() + 1)
  // An id of the same millisecond would still lie before it.
  while (Date.now() < moment.getTime());
  service.clock.advance(moment.getTime() - service.clock.now().getTime())
  return moment
}

export const dayBefore = (moment: Date): Date => new Date(moment.getTime() - 86_400_000)

type Request = Omit<BodyOf<'createReport'>, 'from' | 'to'> & { readonly from: Date; readonly to: Date }

/** Requests a report, lets workers write it, and returns it with its bytes. */
export async function written(service: Service, partnerId: string, { from, to, ...rest }: Request) {
  const { reports } = service
  const period = { from: from.toISOString(), to: to.toISOString() }
  const { id } = await reports.create(partnerId, { ...rest, ...period })
  const work = reportWork(service)
  // The period has ended a moment ago, and the transaction that says so must begin after it.
  for (let tries = 0; tries < 1000; tries += 1) if ((await work.writeStep()) > 0) break
  const report = await reports.get(partnerId, id)
  assert.equal(report.status, 'Ready', report.failure ?? 'not written')
  const content = await reports.content(partnerId, id)
  const bytes = await readAll(content.read(0, content.bytes))
  return { report, content, bytes, text: bytes.toString() }
}

export async function readAll(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const part of parts) all.push(part)
  return Buffer.concat(all)
}

const statementSchema = new URL('../../service/src/iso20022/camt.053.001.08.xsd', import.meta.url)

/** Errors of a camt.053 by the schema of version 08; none: it is valid. */
export async function statementErrors(text: string): Promise<readonly string[]> {
  const schema = [{ fileName: 'camt.053.xsd', contents: await readFile(statementSchema, 'utf8') }]
  const { errors } = await validateXML({ xml: [{ fileName: 'a.xml', contents: text }], schema })
  return errors.map(({ rawMessage }) => rawMessage)
}
