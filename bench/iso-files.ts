/**
 * Payments into files for a bank: `node bench/iso-files.ts [payments] [partners]`. Prints how many a minute reach the bank's folder from
 * rows that wait, and how the rate of taking instructions compares with that of the sandbox connector in the same run.
 */
import { readdir } from 'node:fs/promises'
import { newId } from '../service/src/kernel/index.ts'
import type { Connector, Instruction } from '../service/src/rails/index.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { addPartner, createTestService } from '../test/support/composition.ts'
import { createFolders, instructionOf, openBank, removeFolders } from '../test/support/iso-outgoing.ts'

const { payments, partners } = numbersGiven({ payments: 40_000, partners: 100 })
const perCall = 256
const callsAtOnce = 4
const roundsOfEach = 3

const service = await createTestService({ now: new Date('2026-11-23T09:00:00Z') })
const folders = await createFolders()
const partnerIds = await Promise.all(Array.from({ length: partners }, () => addPartner(service))).then((all) =>
  all.map(({ partnerId }) => partnerId),
)
const bank = openBank(service, folders, { paymentsPerFileMax: 5000 })

async function instructAll(connector: Connector, count: number): Promise<number> {
  const all: Instruction[] = Array.from({ length: count }, (_none, index) =>
    instructionOf(partnerIds[index % partnerIds.length] ?? '', { id: newId(), remittance: 'Invoice 4711' }),
  )
  const calls = Array.from({ length: Math.ceil(count / perCall) }, (_none, call) =>
    all.slice(call * perCall, (call + 1) * perCall),
  )
  const begun = performance.now()
  await Promise.all(
    Array.from({ length: callsAtOnce }, async () => {
      for (let call = calls.shift(); call !== undefined; call = calls.shift()) await connector.instruct(call)
    }),
  )
  return (count * 1000) / (performance.now() - begun)
}

const print = (line: string) => void process.stdout.write(`${line}\n`)
const ratios: number[] = []
for (let round = 0; round < roundsOfEach; round += 1) {
  const sandbox = await instructAll(service.bank, payments / roundsOfEach)
  const files = await instructAll(bank.connector, payments / roundsOfEach)
  ratios.push(files / sandbox)
  print(
    `instructions/s: sandbox ${sandbox.toFixed(0)}, by files ${files.toFixed(0)}, ratio ${(files / sandbox).toFixed(2)}`,
  )
}
const cpu = process.cpuUsage()
const begun = performance.now()
await bank.work()
const ms = performance.now() - begun
const { user, system } = process.cpuUsage(cpu)
const perMinute = (Math.floor(payments / roundsOfEach) * roundsOfEach * 60_000) / ms
print(
  `rows to delivered files: ${perMinute.toFixed(0)} payments a minute, in ${(await readdir(folders.toBank)).length} files`,
)
print(`this process used ${((user + system) / 1000 / ms).toFixed(2)} of a core`)
print(`ratio of taking instructions, the middle of ${roundsOfEach}: ${ratios.toSorted((a, b) => a - b)[1]?.toFixed(2)}`)
await removeFolders(folders)
await service.close()
