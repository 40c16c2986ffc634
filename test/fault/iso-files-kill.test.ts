/**
 * SIGKILL of the process that sends files to a bank, around each commit and around and within each operation on a file. Another
 * process goes on: the bank has each payment once, and the archive has what the bank has.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { bankInstructionId } from '../../service/src/banks/files/ids.ts'
import { createRequestRecall } from '../../service/src/banks/files/recalls.ts'
import { addPartner } from '../support/composition.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { useModules } from '../support/fixture.ts'
import {
  atBank,
  createFolders,
  type Folders,
  instructionOf,
  openBank,
  removeFolders,
  timesAtBank,
} from '../support/iso-outgoing.ts'
import { rulesOfRun } from '../support/workers.ts'

/** Fewer mean that a commit or an operation on a file is not counted. */
const pointsMin = 60
/** Odd, as the shares of every kill test. */
const shares = 15
const service = await useModules({ now: new Date('2026-11-23T09:00:00Z') })
const partnerIds = await Promise.all([addPartner(service), addPartner(service)]).then((all) =>
  all.map(({ partnerId }) => partnerId),
)

/** One payment is at the bank and is asked back; four instant payments and two credit transfers wait. */
async function scenario(folders: Folders): Promise<readonly string[]> {
  const bank = openBank(service, folders, rulesOfRun)
  const amounts = [1_00n, 2_00n, 3_00n, 4_00n, 20_00n, 30_00n]
  const [first, ...rest] = [10_00n, ...amounts].map((amount, index) =>
    instructionOf(partnerIds[index % 2] ?? '', { amount }),
  )
  assert.ok(first)
  await bank.connector.instruct([first])
  await bank.work()
  await createRequestRecall(service)({ partnerId: first.partnerId, id: first.id, reason: 'DUPL', staff: 'Sam Staff' })
  await bank.connector.instruct(rest)
  return [first, ...rest].map(({ id }) => bankInstructionId({ id, attempt: 1 }))
}

/** The next process, when the leases of the killed one have ended. */
async function finish(folders: Folders): Promise<void> {
  const bank = openBank(service, folders, rulesOfRun)
  for (let round = 0; round < 3; round += 1) {
    service.clock.advance(2 * minuteMs)
    await bank.work()
    await atBank(folders)
  }
}

async function check(folders: Folders, ids: readonly string[]): Promise<void> {
  const files = await atBank(folders)
  const times = await timesAtBank(folders)
  assert.deepEqual([...times.keys()].toSorted(), ids.toSorted())
  assert.ok(
    [...times.values()].every((count) => count === 1),
    'the bank has each payment once',
  )
  assert.equal(new Set(files.map(({ name }) => name)).size, files.length, 'no file came twice')
  assert.equal(files.filter(({ name }) => name.startsWith('camt.055')).length, 1)
  const rows = await service.db.rows<{ name: string; sha256: string; state: string; madeAt: Date }>(sql`
    select name, sha256, state, made_at from rails.iso_files`)
  assert.deepEqual(
    new Map(rows.map(({ name, sha256, state }) => [name, [sha256, state]])),
    new Map(files.map(({ name, sha256 }) => [name, [sha256, 'Delivered']])),
  )
  for (const { name, sha256, madeAt } of rows) {
    const archived = await readFile(join(folders.archive, 'out', madeAt.toISOString().slice(0, 10), name))
    assert.equal(createHash('sha256').update(archived).digest('hex'), sha256, 'the archive has what the bank has')
  }
  assert.deepEqual(await readdir(folders.toBank), [], 'nothing is left at the bank')
}

test('a process killed at any file operation or commit sends each payment exactly once', async (t) => {
  await killAtCrashPoints(t, { worker: 'outgoing files', pointsMin, shares }, async (runWorker) => {
    const folders = await createFolders()
    try {
      const ids = await scenario(folders)
      await runWorker(service, { root: folders.root })
      await finish(folders)
      await check(folders, ids)
    } finally {
      await removeFolders(folders)
      for (const id of partnerIds) {
        await service.db.run(sql`delete from rails.iso_recalls where partner_id = ${id}`)
        await service.db.run(sql`delete from rails.iso_instructions where partner_id = ${id}`)
      }
      await service.db.run(sql`delete from rails.iso_files`)
    }
  })
})
