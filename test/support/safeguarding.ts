/** A service with a file-based bank whose account is designated, on a clock that a test keeps near that of the machine. */
import { setTimeout } from 'node:timers/promises'
import { systemClock } from '../../service/src/kernel/index.ts'
import { createTestService } from './composition.ts'
import { connectorId, createBankFolders, createIncomingBank, ownIban } from './iso-incoming.ts'

export const designated = { connector: connectorId, account: ownIban, currency: 'EUR' } as const

/** The ids of transfers have the time of the machine: the clock of the service follows it. */
export async function createSafeguarded() {
  const service = await createTestService({
    now: systemClock.now(),
    chooseConnector: () => connectorId,
    bankAccounts: [designated],
    settings: { REPORT_CLOCK_DIFFERENCE_MS: '0' },
  })
  const folders = await createBankFolders()
  const files = createIncomingBank(service, folders)
  const { clock, db, safeguarding } = service
  /** The time now, with nothing before it that is later, and nothing after it that is earlier. */
  const moment = async (): Promise<Date> => {
    await setTimeout(3)
    const now = systemClock.now()
    clock.advance(now.getTime() - clock.now().getTime())
    await setTimeout(3)
    return now
  }
  let taken = 0
  return {
    ...service,
    /** The connector, and its settlement worker. */
    files,
    moment,
    today: clock.now().toISOString().slice(0, 10),
    take: async (text: string) => {
      taken += 1
      await folders.put(`${taken}.xml`, text)
      await moment()
      await files.work()
      await moment()
    },
    designate: (from: string, until: string | null = null) =>
      db.transaction((tx) => safeguarding.designate(tx, { ...designated, from, until, staff: 'Ada' })),
    close: async () => {
      await service.close()
      await folders.remove()
    },
  }
}

export type SafeguardedService = Awaited<ReturnType<typeof createSafeguarded>>
