/** The connector of file-based banks beside the test bank, in one process and on one clock: a test steps both. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type IsoBank, startIsoBank } from '../../examples/iso-bank/bank.ts'
import { isoBankSetting } from '../../examples/iso-bank/config.ts'
import { type SftpServer, startSftp } from '../../examples/iso-bank/sftp.ts'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { type Clock, createLog } from '../../service/src/kernel/index.ts'
import type { Database } from '../../service/src/postgres/index.ts'
import { createIsoBank, createTransport } from '../../service/src/banks/files/banks.ts'
import type { BankDeps } from '../../service/src/banks/files/deps.ts'
import { isoSettings } from '../../service/src/banks/files/settings.ts'

/** A Monday on which TARGET is open. */
export const businessDay = new Date('2026-11-23T09:00:00Z')

export type IsoWorld = {
  readonly bank: IsoBank
  readonly deps: BankDeps
  /** The text of ISO20022_BANKS. */
  readonly setting: string
  /** The steps of the connector, on the whole database. */
  readonly steps: ReturnType<typeof createIsoBank>['steps']
  readonly folder: string
  readonly close: () => Promise<void>
}

export type IsoWorldOptions = {
  readonly db: Database
  readonly clock: Clock
  readonly transport?: 'folder' | 'sftp'
  /** Fields of the setting that differ. */
  readonly fields?: Readonly<Record<string, unknown>>
}

export async function createIsoWorld({ db, clock, transport = 'folder', fields }: IsoWorldOptions): Promise<IsoWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'iso-world-'))
  const bankFolder = join(folder, 'bank')
  mkdirSync(join(folder, 'archive'))
  const bank = startIsoBank({ folder: bankFolder, clock })
  const sftp = transport === 'sftp' ? await startSftp(bankFolder) : undefined
  const where = sftp === undefined ? ({ kind: 'folder', ...foldersOf(bank) } as const) : sftpSetting(sftp)
  const setting = JSON.stringify([
    {
      ...isoBankSetting(where, folder),
      preferredScheme: 'CreditTransfer',
      fileWindowMs: 0,
      instantWindowMs: 0,
      ...fields,
    },
  ])
  const [config] = isoSettings.ISO20022_BANKS.read(setting)
  if (config === undefined) throw new Error('the setting has one bank')
  const { transport: transportConfig, ...rules } = config
  const deps: BankDeps = {
    db,
    clock,
    log: createLog('silent'),
    rules,
    transport: createTransport(transportConfig),
    operatorId: operatorPartnerId,
  }
  return {
    bank,
    deps,
    setting,
    steps: createIsoBank(deps).steps,
    folder,
    close: async () => {
      await deps.transport.close()
      await sftp?.close()
      bank.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const foldersOf = ({ toBank, fromBank }: IsoBank) => ({ toBank, fromBank })

const sftpSetting = ({ host, port, username, privateKeyFile, hostKey }: SftpServer) =>
  ({ kind: 'sftp', host, port, username, privateKeyFile, hostKey, toBank: '/to-bank', fromBank: '/from-bank' }) as const
