/** The sending side of a file-based bank: the bank of the test takes what it finds, keeps every file, and counts each payment. */
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, unlink } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { type CreditTransferInitiation, readPain001 } from '../../service/src/iso20022/index.ts'
import { createLog, newId } from '../../service/src/kernel/index.ts'
import { createFolderTransport, createIsoBank } from '../../service/src/banks/files/banks.ts'
import type { BankDeps, BankRules, Transport } from '../../service/src/banks/files/deps.ts'
import type { Instruction } from '../../service/src/rails/index.ts'
import { createTestService, type Service } from './composition.ts'
import { connectorId, rulesOf } from './iso-incoming.ts'

export type Folders = Readonly<Record<'root' | 'toBank' | 'fromBank' | 'atBank' | 'archive', string>>

export async function createFolders(): Promise<Folders> {
  const root = await mkdtemp(join(tmpdir(), 'partner-payments-out-'))
  return openFolders(root)
}

export async function openFolders(root: string): Promise<Folders> {
  const at = (name: string) => join(root, name)
  const folders = { toBank: at('to'), fromBank: at('from'), atBank: at('bank'), archive: at('archive') }
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true })
  return { root, ...folders }
}

export const removeFolders = ({ root }: Folders): Promise<void> => rm(root, { recursive: true, force: true })

/** The setting of a bank with one account, which exchanges files by these folders. */
export function bankSetting(
  { toBank, fromBank, archive }: Folders,
  { iban = 'DE89370400440532013000', bic = 'COBADEFFXXX', ...rules }: Readonly<Record<string, unknown>> = {},
) {
  const owner = { ownerName: 'Example', ownerAddress: { town: 'Berlin', country: 'DE' } }
  return {
    initiator: { name: 'Example' },
    accounts: [{ iban, bic, ...owner }],
    archive,
    transport: { kind: 'folder', toBank, fromBank },
    ...rules,
  }
}

/** The modules with a file-based bank that has one account in euros, and its folders. */
export async function createBankService(now = new Date('2026-01-08T09:00:00Z')) {
  const folders = await createFolders()
  const service = await createTestService({
    now,
    chooseConnector: () => connectorId,
    settings: { RAIL: connectorId, ISO20022_BANKS: JSON.stringify([bankSetting(folders)]) },
  })
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  return { folders, service }
}

/** A process of the service with the bank. It shares no memory with another one. */
export function openBank(
  { db, clock }: Pick<Service, 'db' | 'clock'>,
  folders: Folders,
  more: Partial<BankRules> = {},
  wrap: (transport: Transport) => Transport = (transport) => transport,
) {
  const { toBank, fromBank, archive } = folders
  const deps: BankDeps = {
    db,
    clock,
    log: createLog('silent'),
    rules: rulesOf(archive, more),
    transport: wrap(createFolderTransport({ toBank, fromBank, taken: undefined })),
    operatorId: operatorPartnerId,
  }
  const { connector, steps } = createIsoBank(deps)
  /** Works until nothing is left to do at this time. */
  const work = async () => {
    while ((await steps.make()) + (await steps.deliver()) > 0);
  }
  return { connector, steps, work, deps }
}

export const instructionOf = (partnerId: string, change: Partial<Instruction> = {}): Instruction => {
  const id = change.id ?? newId()
  return {
    partnerId,
    id,
    endToEndId: id.replaceAll('-', ''),
    amount: 10_00n,
    currency: 'EUR',
    creditorName: 'Grace Hopper',
    creditorAccount: 'NL91ABNA0417164300',
    creditorBic: null,
    remittance: null,
    simulatedOutcome: null,
    ...change,
  }
}

/** The bank takes the files that it finds, each under a name of its own. */
export async function bankTakes({ toBank, atBank }: Folders): Promise<void> {
  for (const name of await readdir(toBank)) {
    if (name.startsWith('.')) continue
    const taken = join(atBank, `${newId()}-${name}`)
    await rename(join(toBank, name), taken).catch(async (error: NodeJS.ErrnoException) => {
      // A folder of its own disk.
      if (error.code !== 'EXDEV') return
      await copyFile(join(toBank, name), taken)
      await unlink(join(toBank, name))
    })
  }
}

export type TakenFile = { readonly name: string; readonly sha256: string; readonly text: string }

/** Payments at the bank, oldest first. */
export async function atBank(folders: Folders): Promise<readonly TakenFile[]> {
  await bankTakes(folders)
  const names = (await readdir(folders.atBank)).toSorted()
  return Promise.all(
    names.map(async (taken) => {
      const bytes = await readFile(join(folders.atBank, taken))
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      return { name: taken.slice(newId().length + 1), sha256, text: bytes.toString() }
    }),
  )
}

async function* sourceOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

export const initiationsOf = (files: readonly TakenFile[]): Promise<readonly CreditTransferInitiation[]> =>
  Promise.all(files.filter(({ name }) => name.startsWith('pain.001')).map(({ text }) => readPain001(sourceOf(text))))

/** How often the bank has each payment, by its instruction id. */
export async function timesAtBank(folders: Folders): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const { batches } of await initiationsOf(await atBank(folders)))
    for (const { instructionId = '' } of batches.flatMap(({ transfers }) => transfers))
      counts.set(instructionId, (counts.get(instructionId) ?? 0) + 1)
  return counts
}
