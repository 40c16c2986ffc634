/** Salaries as a file of the accounting: pain.001, all or nothing, a result for each payment. */
import { randomUUID } from 'node:crypto'
import { dutchIban, germanIban, payeeOf } from './payments.ts'
import { refusalOf, type Chapter } from './stage.ts'

type Salary = { readonly id: string; readonly name: string; readonly iban: string; readonly amount: string }
const salaries: readonly Salary[] = [
  { id: 'S-1', name: 'Grace Hopper', iban: dutchIban, amount: '2500.00' },
  { id: 'S-2', name: 'Ada Lovelace', iban: germanIban, amount: '2750.50' },
]
/** IBAN that belongs to no payee of the partner. */
const strangersIban = 'FR1420041010050500013M02606'

export const bulk: Chapter = {
  name: 'bulk',
  title: 'a file of ISO 20022 pays salaries',
  run: async ({ client, until, say, show }) => {
    for (const { name, iban } of salaries) await payeeOf(client, name, iban)
    const document = fileOf(salaries)
    say(`The accounting exports ${salaries.length} salaries as pain.001.001.09: ${document.length} characters.`)
    const upload = (text: string) =>
      client.payouts.createBulkFromFile({ mode: 'AllOrNothing', idempotencyKey: randomUUID(), document: text })
    const resultOf = async (id: string) => {
      await until('the bulk has ended', async () => (await client.payouts.getBulk(id)).status !== 'Processing')
      const { status, accepted, refused } = await client.payouts.getBulk(id)
      const { data: items } = await client.payouts.listBulkItems(id)
      return { text: `${status}, ${accepted} accepted, ${refused} refused`, items }
    }
    const first = await resultOf((await upload(document)).id)
    for (const { userReference, amount, status, reference } of first.items)
      say(`  ${userReference}  ${amount.padStart(8)}  ${status}  ${reference}`)
    show('the file', first.text, 'Completed, 2 accepted, 0 refused')

    await resultOf((await upload(document)).id)
    const { data: payouts } = await client.payouts.list({})
    show('payouts after a second upload of the same file', `${payouts.length}`, '2')
    const wrong = fileOf(salaries).replaceAll(germanIban, strangersIban)
    show('a file with an account that no payee has', await refusalOf(upload(wrong)), '400 validation_failed /document')
  },
}

function fileOf(payments: readonly Salary[]): string {
  const today = new Date().toISOString().slice(0, 10)
  const transfers = payments.map(
    ({ id, name, iban, amount }) => `
      <CdtTrfTxInf>
        <PmtId><EndToEndId>${id}</EndToEndId></PmtId>
        <Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt>
        <Cdtr><Nm>${name}</Nm></Cdtr>
        <CdtrAcct><Id><IBAN>${iban}</IBAN></Id></CdtrAcct>
        <RmtInf><Ustrd>Salary ${id}</Ustrd></RmtInf>
      </CdtTrfTxInf>`,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09">
  <CstmrCdtTrfInitn>
    <GrpHdr>
      <MsgId>SALARIES-${today}</MsgId>
      <CreDtTm>${today}T08:00:00Z</CreDtTm>
      <NbOfTxs>${payments.length}</NbOfTxs>
      <InitgPty><Nm>Analytical Engines Ltd</Nm></InitgPty>
    </GrpHdr>
    <PmtInf>
      <PmtInfId>SALARIES</PmtInfId>
      <PmtMtd>TRF</PmtMtd>
      <ReqdExctnDt><Dt>${today}</Dt></ReqdExctnDt>
      <Dbtr><Nm>Analytical Engines Ltd</Nm></Dbtr>
      <DbtrAcct><Id><IBAN>${dutchIban}</IBAN></Id></DbtrAcct>
      <DbtrAgt><FinInstnId><BICFI>ABNANL2AXXX</BICFI></FinInstnId></DbtrAgt>${transfers.join('')}
    </PmtInf>
  </CstmrCdtTrfInitn>
</Document>`
}
