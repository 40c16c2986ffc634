/** The readers of the service read the messages of the test bank, a program that shares no code with them. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startIsoBank } from '../../examples/iso-bank/bank.ts'
import {
  readAccountReport,
  readRecallAnswer,
  readStatusReport,
  recogniseMessage,
  type ReportPart,
  type MessageSource,
} from '../../service/src/iso20022/index.ts'
import { createManualClock } from '../support/clock.ts'
import { debtorIban, pain001, putFile, recall } from './company.ts'

async function* inParts(bytes: Uint8Array): MessageSource {
  for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000)
}

async function partsOf(bytes: Uint8Array): Promise<readonly ReportPart[]> {
  return (await Array.fromAsync(readAccountReport(inParts(bytes)))).flat()
}

for (const version of ['current', 'older'] as const)
  test(`every message of the bank is parsed with the booked amounts: ${version} versions`, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'iso-bank-'))
    const clock = createManualClock(new Date('2026-11-23T09:00:00Z'))
    const bank = startIsoBank({ folder, clock })
    context.after(() => {
      bank.close()
      rmSync(folder, { recursive: true })
    })
    const debtor = { name: 'Ada & Co <Lovelace>', iban: 'DE89370400440532013000', bic: 'COBADEFFXXX' }
    bank.order({ order: 'settings', settings: { version } })
    const credit = { order: 'credit', iban: 'LT121000011101001000', amount: 100n, currency: 'EUR', debtor } as const
    const { ref } = bank.order({ ...credit, charge: 1n, remittance: 'Invoice 7', reference: 'RF18539007547034' })
    bank.order({ order: 'reverse', credit: ref ?? '' })
    bank.order({ order: 'fee', currency: 'EUR', amount: 7n })
    bank.order({
      order: 'batch credit',
      currency: 'GBP',
      details: 'at once',
      credits: [{ iban: debtorIban, amount: 4n, debtor }],
    })
    putFile(
      bank,
      'M1.xml',
      pain001(
        'M1',
        [
          { id: '1', amount: 4001_05n },
          { id: '2', amount: 4001_02n },
        ],
        { batchBooking: true },
      ),
    )
    while (bank.step() > 0);
    putFile(bank, 'R1.xml', recall('R1', '1'))
    while (bank.step() > 0);
    bank.order({ order: 'statement' })
    while (bank.step() > 0);
    const kinds = new Map<string, number>()
    const amounts: bigint[] = []
    for (const name of readdirSync(bank.fromBank)) {
      const bytes = readFileSync(join(bank.fromBank, name))
      const kind = (await recogniseMessage(inParts(bytes)))?.kind ?? 'none'
      assert.ok(name.startsWith(kind), `${name} is recognised as ${kind}`)
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      if (kind === 'pain.002') assert.match((await readStatusReport(inParts(bytes))).originalMessageId, /^M1$/)
      else if (kind === 'camt.029') assert.equal((await readRecallAnswer(inParts(bytes))).transfers.length, 1)
      else
        for (const part of await partsOf(bytes))
          if (part.kind === 'entry' && kind === 'camt.053') {
            const { minor } = part.entry.amount
            amounts.push(part.entry.isCredit ? (minor ?? 0n) : -(minor ?? 0n))
          }
    }
    assert.deepEqual([...kinds.keys()].toSorted(), ['camt.029', 'camt.053', 'camt.054', 'pain.002'])
    const byAmount = (left: bigint, right: bigint) => (left < right ? -1 : left > right ? 1 : 0)
    assert.deepEqual(
      amounts.toSorted(byAmount),
      bank
        .book()
        .entries.map(({ amount }) => amount)
        .toSorted(byAmount),
    )
  })
