/** Every text of every file for a bank is in the characters of SEPA, whatever the configuration, the payments and the recalls say. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newId } from '../../kernel/index.ts'
import { rulesOf } from '../../../../test/support/iso-incoming.ts'
import { schemaErrors } from '../../../../test/support/iso-schemas.ts'
import { paymentsMessage } from './message.ts'
import { recallMessage } from './recall-message.ts'

type Payment = Parameters<typeof paymentsMessage>[1][number]
type Recalled = Parameters<typeof recallMessage>[2][number]

const madeAt = new Date('2026-11-24T09:00:00Z')
const ids = { id: newId(), messageId: 'P1', madeAt }
const key = {
  partnerId: newId(),
  id: newId(),
  currency: 'EUR',
  amount: 1_00n,
  attempt: 1,
  schemeApplied: 'CreditTransfer',
} as const
const addressOf = (text: string) => ({
  street: text,
  buildingNumber: text,
  postCode: text,
  town: text,
  country: 'DE',
  lines: [text, text],
})
const rulesWith = (text: string) => {
  const rules = rulesOf('', { initiator: { name: text, id: text } })
  return {
    ...rules,
    accounts: rules.accounts.map((account) => ({ ...account, ownerName: text, ownerAddress: addressOf(text) })),
  }
}

/** Files of both kinds, with the text in every text field. */
function filesWith(text: string) {
  const rules = rulesWith(text)
  const creditor = { creditorName: text, creditorAccount: 'DE89370400440532013000', creditorBic: null }
  const payment = { ...key, ...creditor, endToEndId: text, remittance: text, batchId: 'B1' } as Payment
  const recall = {
    ...key,
    recallId: newId(),
    endToEndId: text,
    details: text,
    reason: 'DUPL',
    batchId: 'B1',
  } as Recalled
  return {
    'pain.001.001.09': paymentsMessage(ids, [payment], rules).bytes.toString(),
    'camt.055.001.08': recallMessage(
      { ...ids, kind: 'camt.055', messageId: 'R1' },
      { ...ids, messageName: 'pain.001.001.09' },
      [recall],
      rules,
    ).bytes.toString(),
  }
}
const textsIn = (xml: string) =>
  [...xml.matchAll(/>([^<]+)</g)]
    .map(([, text = '']) => text.replaceAll('&apos;', "'"))
    .filter((text) => text.trim() !== '')
const valueOf = (xml: string, name: string) => new RegExp(`<${name}>([^<]*)<`).exec(xml)?.[1]

test('the texts that were found: an address, an en dash and an umlaut', () => {
  const { 'pain.001.001.09': payments } = filesWith('Königstraße 1–3')
  assert.equal(valueOf(payments, 'StrtNm'), 'Koenigstrasse 1-3')
  const { 'camt.055.001.08': recalls } = filesWith('Doppelte Überweisung – „bitte“ zurück')
  assert.match(valueOf(recalls, 'AddtlInf') ?? '', /^Doppelte Ueberweisung - /)
  assert.match(valueOf(recalls, 'AddtlInf') ?? '', / zurueck$/)
})

test('a recall names the end-to-end id as the payment had it', () => {
  const files = filesWith('//Rechnung Nº 5/ü')
  assert.equal(valueOf(files['camt.055.001.08'], 'OrgnlEndToEndId'), valueOf(files['pain.001.001.09'], 'EndToEndId'))
})

test('any text, in any place: only the characters of SEPA, and valid by the schema', async () => {
  const texts = fc.sample(
    fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }),
      fc.string({ unit: 'binary', minLength: 1 }),
    ),
    { numRuns: 150, seed: 12 },
  )
  const files = [...texts, 'ß'.repeat(300), 'Щ'.repeat(300), '\0', '☃', "'", '&<>'].map(filesWith)
  for (const name of ['pain.001.001.09', 'camt.055.001.08'] as const) {
    for (const file of files) for (const text of textsIn(file[name])) assert.match(text, /^[A-Za-z0-9/\-?:().,'+ ]+$/)
    assert.deepEqual(
      await schemaErrors(
        name,
        files.map((file) => file[name]),
      ),
      [],
    )
  }
})
