/** A file-based bank in a folder of the test, whose messages the test writes; the connector and settlement are those of the service. */
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import {
  accountReportXml,
  type BankEntry,
  type EntryDetail,
  type ReportKind,
  type ReportPart,
  type StatusReport,
  statusReportXml,
  defaultProfile,
} from '../../service/src/iso20022/index.ts'
import { dayMs, hourMs, minuteMs, newId } from '../../service/src/kernel/index.ts'
import { sql, useSnapshot } from '../../service/src/postgres/index.ts'
import type { BankDeps, BankRules, Transport } from '../../service/src/banks/files/deps.ts'
import {
  createFolderTransport,
  createNotificationReader,
  forecastPayment,
} from '../../service/src/banks/files/banks.ts'
import { createFileReceiver } from '../../service/src/banks/files/incoming.ts'
import { createSubmit } from '../../service/src/banks/files/submit.ts'
import type { Connector } from '../../service/src/rails/index.ts'
import type { ReportLine } from '../../service/src/cases/reconciliation/index.ts'
import { processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import type { Service } from './composition.ts'

export const ownIban = 'DE02120300000000202051'
export const connectorId = 'iso20022'

/** The lines of the reconciliation of our account. */
export async function reconciliationLines({ db, reconciliation }: Service): Promise<readonly ReportLine[]> {
  const lines: ReportLine[] = []
  await db.transaction(async (tx) => {
    await useSnapshot(tx)
    for await (const page of reconciliation.report(tx, { account: ownIban })) lines.push(...page)
  })
  return lines
}

export async function createBankFolders() {
  const root = await mkdtemp(join(tmpdir(), 'partner-payments-iso-'))
  const folders = foldersIn(root)
  for (const folder of [folders.toBank, folders.fromBank, folders.archive]) await mkdir(folder)
  return folders
}

/** Folders that exist, also in another process. */
export function foldersIn(root: string) {
  const folders = { root, toBank: join(root, 'to'), fromBank: join(root, 'from'), archive: join(root, 'archive') }
  /** Writes a file that is whole as soon as it has its name, as a bank does. */
  const put = async (name: string, contents: string | Uint8Array) => {
    const temporary = join(root, `${newId()}.tmp`)
    await writeFile(temporary, contents)
    await rename(temporary, join(folders.fromBank, name))
  }
  return {
    ...folders,
    put,
    left: () => readdir(folders.fromBank),
    remove: () => rm(root, { recursive: true, force: true }),
  }
}
export type BankFolders = ReturnType<typeof foldersIn>

export const rulesOf = (archive: string, more: Partial<BankRules> = {}): BankRules => ({
  id: connectorId,
  accounts: [
    {
      iban: ownIban,
      bic: 'BYLADEM1001',
      currency: 'EUR',
      ownerName: 'Operator',
      ownerAddress: { town: 'Berlin', country: 'DE' },
    },
  ],
  initiator: { name: 'Operator' },
  preferred: 'CreditTransfer',
  instantMax: 10_000_000n,
  reach: { Instant: 'all', CreditTransfer: 'all' },
  timeZone: 'Europe/Berlin',
  opensAt: 0,
  cutOffAt: 24 * 60,
  closedDays: new Set(),
  paymentsPerFileMax: 1000,
  fileWindowMs: 0,
  batchBooking: false,
  profile: defaultProfile,
  chargeBearer: 'SHAR',
  messageBytesMax: 1 << 30,
  unfinishedAfterMs: 10 * minuteMs,
  missingAfterMs: dayMs,
  detailsWithinMs: hourMs,
  archive,
  pollMs: 1000,
  unknownBankReachable: true,
  instantWindowMs: 0,
  ...more,
})

type BankOptions = Partial<BankRules> & { readonly wrapTransport?: (transport: Transport) => Transport }

export function createIncomingBank(
  service: Pick<Service, 'db' | 'clock' | 'log' | 'settlement'>,
  folders: BankFolders,
  { wrapTransport, ...more }: BankOptions = {},
) {
  const { db, clock, log } = service
  const rules = rulesOf(folders.archive, more)
  const plain = createFolderTransport({ ...folders, taken: undefined })
  const transport = wrapTransport?.(plain) ?? plain
  const deps: BankDeps = { db, clock, log, rules, transport, operatorId: operatorPartnerId }
  const limits = { instructionsPerCallMax: 256, callsMax: 4, callTimeoutMs: 10_000 }
  const connector: Connector = {
    id: rules.id,
    limits,
    forecast: (payment, at) => forecastPayment(payment, at, rules),
    instruct: createSubmit(deps),
    find: (keys) => Promise.resolve(keys.map(() => undefined)),
    ...createNotificationReader(deps),
  }
  const incoming = createFileReceiver(deps)
  const settlement = { ...service.settlement, connectors: [connector] }
  /** Works until there is nothing to do. */
  const work = async () => {
    while ((await incoming.step()) > 0);
    while ((await processBankNotifications(settlement)) > 0);
  }
  return { deps, connector, incoming, settlement, work }
}

/** Payments that stand in a file which the bank has. */
export async function markFiled(
  { db, clock }: Pick<Service, 'db' | 'clock'>,
  messageId = `P${newId().replaceAll('-', '')}`,
) {
  const fileId = newId()
  const batchId = `${fileId.replaceAll('-', '')}-1`
  const now = clock.now()
  await db.transaction(async (tx) => {
    await tx.run(sql`insert into rails.iso_files (id, connector, kind, message_id, name, sha256, bytes, payments, control_sum, state,
        staged_name, made_at, delivered_at)
      values (${fileId}, ${connectorId}, 'pain.001', ${messageId}, 'file.xml', '', 1, 1, '1', 'Delivered', 'staged', ${now}, ${now})`)
    await tx.run(sql`update rails.iso_instructions set status = 'Filed', file_id = ${fileId}, batch_id = ${batchId}, updated_at = ${now}
      where status = 'Queued'`)
  })
  return { fileId, batchId, messageId }
}

let references = 0
export const nextReference = () => `REF${(references += 1)}`

export type EntryOptions = Partial<Omit<BankEntry, 'details'>> & { readonly details?: readonly Partial<EntryDetail>[] }

export const euro = (minor: bigint) => ({ currency: 'EUR', minor }) as const

/** A booking of one payment; below zero: a debit. */
export function entryOf(amount: bigint, { details = [{}], ...more }: EntryOptions = {}): BankEntry {
  const isCredit = amount > 0n
  return {
    amount: euro(isCredit ? amount : -amount),
    isCredit,
    isReversal: false,
    status: 'BOOK',
    bookingDate: '2026-01-01',
    valueDate: '2026-01-01',
    bankReference: nextReference(),
    codes: { domain: 'PMNT', family: isCredit ? 'RCDT' : 'ICDT', subFamily: 'ESCT' },
    charges: [],
    batches: [],
    details: details.map((detail) => ({ references: {}, charges: [], ...detail })),
    ...more,
  }
}

export type ReportOptions = {
  readonly kind?: ReportKind
  readonly version?: string
  readonly messageId?: string
  readonly statementId?: string
  readonly sequence?: number
  readonly opening?: bigint
  readonly closing?: bigint
  readonly on?: string
  readonly iban?: string
  readonly currency?: string
}

const balance = (code: string, minor: bigint, on: string) => ({
  type: { code },
  creditLines: [],
  amount: euro(minor < 0n ? -minor : minor),
  isCredit: minor >= 0n,
  date: on,
})

export function* partsOf(entries: Iterable<BankEntry>, options: ReportOptions = {}): Generator<ReportPart> {
  const { kind = 'camt.054', version = '08', messageId = newId().replaceAll('-', ''), on = '2026-01-01' } = options
  const { statementId = messageId, sequence, opening, closing, iban = ownIban, currency = 'EUR' } = options
  const createdAt = `${on}T12:00:00Z`
  yield { kind: 'head', head: { kind, version, messageId, createdAt } }
  const balances = [
    ...(opening === undefined ? [] : [balance('OPBD', opening, on)]),
    ...(closing === undefined ? [] : [balance('CLBD', closing, on)]),
  ]
  const numbered = sequence === undefined ? {} : { electronicSequence: String(sequence) }
  yield {
    kind: 'statement',
    statement: { id: statementId, createdAt, account: { id: { iban }, currency }, balances, ...numbered },
  }
  let count = 0
  for (const entry of entries) {
    count += 1
    yield { kind: 'entry', entry }
  }
  yield { kind: 'statement end', entries: count }
}

export const reportXml = (entries: Iterable<BankEntry>, options: ReportOptions = {}): string =>
  [...accountReportXml(partsOf(entries, options))].join('')

export const statusXml = (originalMessageId: string, more: Partial<StatusReport>): string =>
  [
    ...statusReportXml({
      messageId: newId().replaceAll('-', ''),
      createdAt: '2026-01-01T12:00:00Z',
      originalMessageId,
      originalMessageName: 'pain.001.001.09',
      reasons: [],
      batches: [],
      ...more,
    }),
  ].join('')

export const casesOf = async ({ db }: Pick<Service, 'db'>) =>
  (
    await db.rows<{ kind: string; report: string; booked: bigint | null; partnerId: string }>(
      sql`select kind, report, booked, partner_id from cases.cases order by opened_at, id`,
    )
  ).map(({ report, ...row }) => ({ ...row, details: detailsIn(report) }))

const detailsIn = (report: string): string => {
  const { details, remittance } = JSON.parse(report) as { details?: string; remittance?: string }
  return details ?? remittance ?? ''
}
