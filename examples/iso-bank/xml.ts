/** Reads the messages of the company: elements as a tree, by their names without prefix. */
import sax from 'sax'
import type { Initiation, Payment } from './model.ts'

type Node = {
  readonly name: string
  readonly children: Node[]
  text: string
  readonly attributes: Record<string, string>
}

export class Unreadable extends Error {}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

function parse(text: string): Node {
  const root: Node = { name: '', children: [], text: '', attributes: {} }
  const path = [root]
  const parser = sax.parser(true, { trim: false })
  parser.onerror = (error) => {
    throw new Unreadable(error.message)
  }
  parser.ondoctype = () => {
    throw new Unreadable('a document type')
  }
  parser.onopentag = ({ name, attributes }) => {
    const node: Node = {
      name: localName(name),
      children: [],
      text: '',
      attributes: attributes as Record<string, string>,
    }
    path.at(-1)?.children.push(node)
    path.push(node)
  }
  parser.ontext = (part) => {
    const node = path.at(-1)
    if (node) node.text += part
  }
  parser.onclosetag = () => void path.pop()
  parser.write(text).close()
  return root
}

const all = (node: Node | undefined, name: string): readonly Node[] =>
  node?.children.filter((child) => child.name === name) ?? []
/** The first element at `path`, with names joined by slashes. */
const at = (node: Node | undefined, path: string): Node | undefined => {
  let found = node
  for (const name of path.split('/')) found = found?.children.find((child) => child.name === name)
  return found
}
const textAt = (node: Node | undefined, path: string): string | undefined => at(node, path)?.text.trim()

function must(node: Node | undefined, path: string): string {
  const text = textAt(node, path)
  if (text === undefined || text === '') throw new Unreadable(`${node?.name ?? 'the document'} has no ${path}`)
  return text
}

export function cents(text: string): bigint {
  const match = /^(\d{1,15})(?:\.(\d{1,2})0*)?$/.exec(text)
  if (match === null) throw new Unreadable(`${text} is no amount`)
  return BigInt(`${match[1]}${(match[2] ?? '').padEnd(2, '0')}`)
}
const centsAt = (node: Node, path: string): bigint | null => {
  const text = textAt(node, path)
  return text === undefined ? null : cents(text)
}

export type CompanyMessage =
  | { readonly kind: 'pain.001'; readonly initiation: Initiation }
  | { readonly kind: 'camt.055'; readonly recall: RecallRequest }
export type RecallRequest = {
  readonly messageId: string
  readonly caseId: string
  readonly assigner: string
  readonly payments: readonly {
    readonly cancellationId: string
    readonly instructionId: string | null
    readonly endToEndId: string
    readonly reason: string
  }[]
}

/** Throws Unreadable if it is neither. */
export function readMessage(text: string): CompanyMessage {
  const document = at(parse(text), 'Document')
  const initiation = at(document, 'CstmrCdtTrfInitn')
  if (initiation) return { kind: 'pain.001', initiation: readInitiation(initiation) }
  const recall = at(document, 'CstmrPmtCxlReq') ?? at(document, 'FIToFIPmtCxlReq')
  if (recall) return { kind: 'camt.055', recall: readRecall(recall) }
  throw new Unreadable('neither a pain.001 nor a recall (camt.055, camt.056)')
}

function readInitiation(message: Node): Initiation {
  const head = at(message, 'GrpHdr')
  const messageId = must(head, 'MsgId')
  return {
    messageId,
    count: Number(must(head, 'NbOfTxs')),
    controlSum: head ? centsAt(head, 'CtrlSum') : null,
    batches: all(message, 'PmtInf').map((batch) => ({
      id: must(batch, 'PmtInfId'),
      account: textAt(batch, 'DbtrAcct/Id/IBAN') ?? must(batch, 'DbtrAcct/Id/Othr/Id'),
      count: textAt(batch, 'NbOfTxs') === undefined ? null : Number(textAt(batch, 'NbOfTxs')),
      controlSum: centsAt(batch, 'CtrlSum'),
      payments: all(batch, 'CdtTrfTxInf').map((transfer) => readPayment(messageId, batch, transfer)),
    })),
  }
}

function readPayment(messageId: string, batch: Node, transfer: Node): Payment {
  const money = at(transfer, 'Amt/InstdAmt')
  const payer = textAt(transfer, 'UltmtDbtr/Nm')
  const idOf = (kind: string) => textAt(transfer, `UltmtDbtr/Id/${kind}/Othr/Id`)
  const lines = all(at(transfer, 'RmtInf'), 'Ustrd').map(({ text }) => text)
  return {
    messageId,
    batchId: must(batch, 'PmtInfId'),
    batchBooking: textAt(batch, 'BtchBookg') === 'true',
    instructionId: must(transfer, 'PmtId/InstrId'),
    endToEndId: must(transfer, 'PmtId/EndToEndId'),
    account: textAt(batch, 'DbtrAcct/Id/IBAN') ?? must(batch, 'DbtrAcct/Id/Othr/Id'),
    currency: money?.attributes['Ccy'] ?? '',
    amount: cents(must(transfer, 'Amt/InstdAmt')),
    ...(payer === undefined
      ? {}
      : {
          payer: {
            name: payer,
            id: idOf('PrvtId') ?? idOf('OrgId') ?? null,
            country: textAt(transfer, 'UltmtDbtr/PstlAdr/Ctry') ?? null,
          },
        }),
    creditorName: must(transfer, 'Cdtr/Nm'),
    creditorAccount: textAt(transfer, 'CdtrAcct/Id/IBAN') ?? must(transfer, 'CdtrAcct/Id/Othr/Id'),
    creditorBic: textAt(transfer, 'CdtrAgt/FinInstnId/BICFI') ?? null,
    remittance: textAt(transfer, 'RmtInf/Strd/CdtrRefInf/Ref') ?? (lines.length === 0 ? null : lines.join('')),
    isInstant: (textAt(transfer, 'PmtTpInf/LclInstrm/Cd') ?? textAt(batch, 'PmtTpInf/LclInstrm/Cd')) === 'INST',
  }
}

function readRecall(message: Node): RecallRequest {
  const payments = all(message, 'Undrlyg').flatMap((underlying) => [
    ...all(underlying, 'OrgnlPmtInfAndCxl').flatMap((batch) => all(batch, 'TxInf')),
    ...all(underlying, 'TxInf'),
  ])
  return {
    messageId: must(message, 'Assgnmt/Id'),
    caseId: textAt(message, 'Case/Id') ?? must(message, 'Assgnmt/Id'),
    assigner: textAt(message, 'Assgnmt/Assgnr/Pty/Nm') ?? '',
    payments: payments.map((each) => ({
      cancellationId: textAt(each, 'CxlId') ?? must(each, 'OrgnlEndToEndId'),
      instructionId: textAt(each, 'OrgnlInstrId') ?? null,
      endToEndId: must(each, 'OrgnlEndToEndId'),
      reason: textAt(each, 'CxlRsnInf/Rsn/Cd') ?? 'CUST',
    })),
  }
}
