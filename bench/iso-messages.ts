/**
 * What messages of a bank cost: `node bench/iso-messages.ts [entries] [payments] [rounds]`, by default 1,000,000, 100,000 and 3. Reads a
 * camt.053 as a stream, in turn with sax over the same bytes with a handler that only counts, without namespaces, and writes a pain.001, in turn with
 * joining texts of the same length. Counts processor time, the garbage collector included, so that other load matters less. States
 * ratios, and the resident memory at a tenth of the statement and at its end.
 */
import sax from 'sax'
import {
  accountReportXml,
  type BankEntry,
  type CreditTransfer,
  type CreditTransferInitiation,
  pain001Xml,
  readAccountReport,
  type ReportPart,
} from '../service/src/iso20022/index.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { type Spread, spreadOf } from './rounds.ts'

const { entries, payments, rounds } = numbersGiven({ entries: 1_000_000, payments: 100_000, rounds: 3 })
const chunkBytes = 65_536
const mebibyte = 2 ** 20
const say = (line: string) => console.log(line)
const count = (value: number) => Math.round(value).toLocaleString('en')

const iban = 'DE89370400440532013000'
const entry = (number: number): BankEntry => ({
  reference: String(number),
  amount: { currency: 'EUR', minor: BigInt(number) },
  isCredit: true,
  isReversal: false,
  status: 'BOOK',
  bookingDate: '2026-11-23',
  valueDate: '2026-11-23',
  bankReference: `2026112300${number}`,
  codes: { domain: 'PMNT', family: 'RCDT', subFamily: 'ESCT' },
  charges: [],
  batches: [],
  details: [
    {
      references: { endToEndId: `RE-2026-${number}`, transactionId: `TX${number}` },
      amount: { currency: 'EUR', minor: BigInt(number) },
      isCredit: true,
      charges: [],
      debtor: { name: 'Erika Mustermann', address: { town: 'Berlin', country: 'DE' } },
      debtorAccount: { iban: 'DE02120300000000202051' },
      debtorAgent: { bic: 'BYLADEM1001' },
      creditor: { name: 'Musterfirma GmbH' },
      creditorAccount: { iban },
      remittance: { unstructured: [`Invoice ${number} of November`] },
    },
  ],
})

function* parts(): Generator<ReportPart> {
  yield { kind: 'head', head: { kind: 'camt.053', version: '08', messageId: 'M1', createdAt: '2026-11-23T20:00:00Z' } }
  yield { kind: 'statement', statement: { id: 'S1', account: { id: { iban } }, balances: [] } }
  for (let number = 1; number <= entries; number += 1) yield { kind: 'entry', entry: entry(number) }
  yield { kind: 'statement end', entries }
}

/** Seconds of processor time of this process. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** The statement is made while it is read, so that its bytes do not count as memory; `spent` is the time that this takes. */
async function* statement(spent: { seconds: number; bytes: number }): AsyncGenerator<Uint8Array> {
  let text = ''
  let begun = processorSeconds()
  for (const part of accountReportXml(parts())) {
    text += part
    if (text.length < chunkBytes) continue
    const bytes = Buffer.from(text)
    text = ''
    spent.bytes += bytes.length
    spent.seconds += processorSeconds() - begun
    yield bytes
    begun = processorSeconds()
  }
  yield Buffer.from(text)
}

type Measured = { readonly seconds: number; readonly bytes: number }
const residentMebibytes = () => process.memoryUsage.rss() / mebibyte

async function readOurs(memory: number[]): Promise<Measured> {
  const spent = { seconds: 0, bytes: 0 }
  let found = 0
  let sum = 0n
  const begun = processorSeconds()
  for await (const some of readAccountReport(statement(spent))) {
    for (const part of some)
      if (part.kind === 'entry') {
        found += 1
        sum += part.entry.amount.minor ?? 0n
        if (found === Math.floor(entries / 10) || found === entries) memory.push(residentMebibytes())
      }
  }
  const seconds = processorSeconds() - begun - spent.seconds
  if (found !== entries || sum !== (BigInt(entries) * BigInt(entries + 1)) / 2n) throw new Error('entries are lost')
  return { seconds, bytes: spent.bytes }
}

async function readSax(): Promise<Measured> {
  const spent = { seconds: 0, bytes: 0 }
  const parser = sax.parser(true)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let elements = 0
  parser.onopentag = () => {
    elements += 1
  }
  const begun = processorSeconds()
  for await (const bytes of statement(spent)) parser.write(decoder.decode(bytes, { stream: true }))
  parser.close()
  if (elements < entries) throw new Error('elements are lost')
  return { seconds: processorSeconds() - begun - spent.seconds, bytes: spent.bytes }
}

const transfer = (number: number): CreditTransfer => ({
  instructionId: number.toString(16).padStart(32, '0'),
  endToEndId: `RE-2026-${number}`,
  money: { currency: 'EUR', minor: BigInt(number + 1) },
  creditorAgent: { bic: 'BYLADEM1001' },
  creditor: { name: 'Erika Mustermann', address: { town: 'Berlin', country: 'DE' } },
  creditorAccount: { iban: 'DE02120300000000202051' },
  remittance: { unstructured: [`Invoice ${number} of November`] },
})

function initiation(): CreditTransferInitiation {
  const batch = {
    id: 'B1',
    serviceLevel: 'SEPA',
    executionDate: '2026-11-24',
    debtor: { name: 'Musterfirma GmbH' },
    debtorAccount: { iban },
    debtorAgent: { bic: 'COBADEFFXXX' },
    chargeBearer: 'SLEV',
    transfers: Array.from({ length: payments }, (_, number) => transfer(number)),
  }
  return { messageId: 'M1', createdAt: new Date(0), initiator: { name: 'Musterfirma GmbH' }, batches: [batch] }
}

/** Bytes, as a file has them. */
function writeOurs(value: CreditTransferInitiation): Measured {
  const begun = processorSeconds()
  let bytes = 0
  for (const part of pain001Xml(value)) bytes += Buffer.from(part).length
  return { seconds: processorSeconds() - begun, bytes }
}

/** The same number of bytes from one text for each payment. */
function writeJoined(bytes: number): Measured {
  const text = 'x'.repeat(Math.round(bytes / payments))
  const begun = processorSeconds()
  let written = 0
  let part = ''
  for (let number = 0; number < payments; number += 1) {
    part += `\n<p>${number}${text}</p>`
    if (part.length < chunkBytes) continue
    written += Buffer.from(part).length
    part = ''
  }
  return { seconds: processorSeconds() - begun, bytes: written }
}

const rate = ({ median, min, max }: Spread, unit: string) => `${count(median)} ${unit} (${count(min)} to ${count(max)})`

const memory: number[] = []
const reading = { ours: [] as number[], sax: [] as number[], ratios: [] as number[] }
const writing = { ours: [] as number[], joined: [] as number[] }
const value = initiation()
for (let round = 1; round <= rounds; round += 1) {
  const ours = await readOurs(memory)
  const baseline = await readSax()
  reading.ours.push(entries / ours.seconds)
  reading.sax.push(entries / baseline.seconds)
  reading.ratios.push(baseline.seconds / ours.seconds)
  const written = writeOurs(value)
  writing.ours.push(payments / written.seconds)
  writing.joined.push(payments / writeJoined(written.bytes).seconds)
  say(`round ${round}: ${count(ours.bytes / mebibyte)} MiB read, ${count(written.bytes / mebibyte)} MiB written`)
}
const ratio = spreadOf(reading.ratios)
say(`camt.053 of ${count(entries)} entries: ${rate(spreadOf(reading.ours), 'entries/s')}`)
say(`sax alone, the same bytes: ${rate(spreadOf(reading.sax), 'entries/s')}; ratio ${ratio.median.toFixed(2)}`)
const [tenth = 0, end = 0] = memory
say(`resident memory of the first round: ${count(tenth)} MiB at a tenth, ${count(end)} MiB at the end`)
say(`pain.001 of ${count(payments)} payments: ${rate(spreadOf(writing.ours), 'payments/s')}`)
say(`texts of the same length joined: ${rate(spreadOf(writing.joined), 'payments/s')}`)
