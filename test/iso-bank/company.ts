/** A test company that writes pain.001 and camt.055 by hand, so that the bank is tested without the connector. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type IsoBank, accountsDefault } from '../../examples/iso-bank/bank.ts'
import { decimal } from '../../examples/iso-bank/write.ts'

export type WantedPayment = {
  readonly id: string
  readonly amount: bigint
  readonly name?: string
  readonly iban?: string
  readonly instant?: boolean
  /** The party on whose behalf the company pays. */
  readonly payer?: { readonly name: string; readonly iban: string }
}

export const debtorIban = accountsDefault[0]?.iban ?? ''
export const creditorIban = 'NL91ABNA0417164300'

export type Changes = {
  readonly controlSum?: string
  readonly count?: number
  readonly batchBooking?: boolean
  readonly account?: string
}

export function pain001(messageId: string, wanted: readonly WantedPayment[], changes: Changes = {}): string {
  const sum = changes.controlSum ?? decimal(wanted.reduce((total, { amount }) => total + amount, 0n))
  const count = changes.count ?? wanted.length
  const transfers = wanted.map(
    ({ id, amount, name = 'Grace Hopper', iban = creditorIban, payer }) =>
      `<CdtTrfTxInf><PmtId><InstrId>I-${id}</InstrId><EndToEndId>E-${id}</EndToEndId></PmtId>` +
      `<Amt><InstdAmt Ccy="EUR">${decimal(amount)}</InstdAmt></Amt>` +
      (payer
        ? `<UltmtDbtr><Nm>${payer.name}</Nm><Id><PrvtId><Othr><Id>${payer.iban}</Id></Othr></PrvtId></Id></UltmtDbtr>`
        : '') +
      `<Cdtr><Nm>${name}</Nm></Cdtr>` +
      `<CdtrAcct><Id><IBAN>${iban}</IBAN></Id></CdtrAcct><RmtInf><Ustrd>Invoice ${id}</Ustrd></RmtInf></CdtTrfTxInf>`,
  )
  const scheme = wanted.some(({ instant }) => instant)
    ? '<PmtTpInf><LclInstrm><Cd>INST</Cd></LclInstrm></PmtTpInf>'
    : ''
  return (
    '<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CstmrCdtTrfInitn>' +
    `<GrpHdr><MsgId>${messageId}</MsgId><NbOfTxs>${count}</NbOfTxs><CtrlSum>${sum}</CtrlSum></GrpHdr>` +
    `<PmtInf><PmtInfId>B-${messageId}</PmtInfId><PmtMtd>TRF</PmtMtd><BtchBookg>${changes.batchBooking === true}</BtchBookg>` +
    `<NbOfTxs>${wanted.length}</NbOfTxs><CtrlSum>${sum}</CtrlSum>${scheme}` +
    `<DbtrAcct><Id><IBAN>${changes.account ?? debtorIban}</IBAN></Id></DbtrAcct>${transfers.join('')}</PmtInf>` +
    '</CstmrCdtTrfInitn></Document>'
  )
}

export function recall(messageId: string, id: string): string {
  return (
    '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.055.001.08"><CstmrPmtCxlReq>' +
    `<Assgnmt><Id>${messageId}</Id></Assgnmt><Case><Id>C-${id}</Id></Case><Undrlyg><OrgnlPmtInfAndCxl><TxInf>` +
    `<CxlId>X-${id}</CxlId><OrgnlInstrId>I-${id}</OrgnlInstrId><OrgnlEndToEndId>E-${id}</OrgnlEndToEndId>` +
    '<CxlRsnInf><Rsn><Cd>DUPL</Cd></Rsn></CxlRsnInf></TxInf></OrgnlPmtInfAndCxl></Undrlyg></CstmrPmtCxlReq></Document>'
  )
}

export const putFile = ({ toBank }: Pick<IsoBank, 'toBank'>, name: string, text: string): void =>
  writeFileSync(join(toBank, name), text)
