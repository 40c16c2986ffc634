/** The test bank of the demo, as a program of its own beside the service, and the settings that connect the service to it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createIsoBankProgram, type IsoBankProgram } from '../../iso-bank/child.ts'
import { isoBankSetting } from '../../iso-bank/config.ts'
import type { Service } from '../service.ts'

export type DemoBank = IsoBankProgram & { readonly settings: Readonly<Record<string, string>> }

export async function startDemoBank(folder: string): Promise<DemoBank> {
  const bank = createIsoBankProgram({
    folder: join(folder, 'bank'),
    settings: { answerMs: 200, bookMs: 200, laterMs: 400 },
  })
  const { toBank, fromBank } = await bank.start()
  mkdirSync(join(folder, 'data', 'iso'), { recursive: true, mode: 0o700 })
  const file = join(folder, 'banks.json')
  const setting = isoBankSetting({ kind: 'folder', toBank, fromBank }, join(folder, 'data', 'iso'))
  writeFileSync(file, JSON.stringify([setting], undefined, 2))
  return { ...bank, settings: { RAIL: 'iso20022', ISO20022_BANKS: file } }
}

/** A power failure takes both: the service and its bank. */
export const withBank = (service: Service, bank: IsoBankProgram): Service => ({
  ...service,
  kill: async () => void (await Promise.all([service.kill(), bank.kill()])),
  start: async () => {
    await bank.start()
    await service.start()
  },
})
