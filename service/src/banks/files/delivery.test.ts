/** Files reach the bank once, whatever happens on their way: on a real database and real folders. */
import assert from 'node:assert/strict'
import { mkdir, readdir, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, suite, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import {
  atBank,
  createFolders,
  type Folders,
  initiationsOf,
  instructionOf,
  openBank,
  removeFolders,
  timesAtBank,
} from '../../../../test/support/iso-outgoing.ts'
import { dayMs, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { newestFiles, oldestUndelivered, releaseFileLeases } from './store-instructions.ts'

/** A Monday on which TARGET is open. */
const monday = new Date('2026-11-23T09:00:00Z')
let service: Service
let partnerIds: readonly string[]
let folders: Folders

before(async () => {
  service = await createTestService({ now: monday })
  partnerIds = await Promise.all([addPartner(service), addPartner(service)]).then((all) =>
    all.map((each) => each.partnerId),
  )
})
after(() => service.close())
beforeEach(async () => {
  folders = await createFolders()
})
afterEach(async () => {
  await removeFolders(folders)
  for (const id of partnerIds) {
    await service.db.run(sql`delete from rails.iso_recalls where partner_id = ${id}`)
    await service.db.run(sql`delete from rails.iso_instructions where partner_id = ${id}`)
  }
  await service.db.run(sql`delete from rails.iso_files`)
})

const many = (count: number, change: Parameters<typeof instructionOf>[1] = {}) =>
  Array.from({ length: count }, (_none, index) => instructionOf(partnerIds[index % 2] ?? '', change))
const open = (...more: Parameters<typeof openBank> extends [unknown, unknown, ...infer Rest] ? Rest : never) =>
  openBank(service, folders, ...more)

suite('delivery', () => {
  test('a file that is made under an earlier configuration, or for a day that is over, is made again', async () => {
    const made = open({ opensAt: 0, cutOffAt: 16 * 60 })
    await made.connector.instruct(many(2))
    await made.steps.make()
    service.clock.advance(3 * dayMs)
    const later = open({ opensAt: 0, cutOffAt: 16 * 60, initiator: { name: 'New name' } })
    await later.work()
    const [initiation, ...more] = await initiationsOf(await atBank(folders))
    assert.equal(more.length, 0)
    assert.equal(initiation?.initiator.name, 'New name')
    const [row] = await newestFiles(service.db, 'iso20022', 1)
    assert.equal(row?.sha256, (await atBank(folders))[0]?.sha256)
    const today = service.clock.now().toISOString().slice(0, 10)
    assert.ok((initiation?.batches[0]?.executionDate ?? '') >= today)
  })

  test('while the bank cannot be reached nothing is lost, and the file says why it is late', async () => {
    const broken = open()
    await broken.connector.instruct(many(2))
    await rm(folders.toBank, { recursive: true })
    await broken.work()
    const [row] = await newestFiles(service.db, 'iso20022', 1)
    assert.deepEqual([row?.state, row?.attempts], ['Made', 1])
    assert.match(row?.problem ?? '', /stage: ENOENT/)
    assert.ok(await oldestUndelivered(service.db, 'iso20022'))
    await mkdir(folders.toBank)
    await broken.work()
    assert.equal((await atBank(folders)).length, 0, 'not before its pause is over')
    service.clock.advance(10 * secondMs)
    await broken.work()
    assert.equal((await timesAtBank(folders)).size, 2)
    assert.equal((await newestFiles(service.db, 'iso20022', 1))[0]?.problem, null)
  })

  test('what removes a staged file before it has its name does not lose its payments', async () => {
    let removed = 0
    const bank = open({}, (transport) => ({
      ...transport,
      stage: async (temporary, bytes, signal) => {
        await transport.stage(temporary, bytes, signal)
        if (removed < 2) await unlink(join(folders.toBank, temporary))
        removed += 1
      },
    }))
    await bank.connector.instruct(many(3))
    for (let round = 0; round < 4; round += 1) {
      await bank.work()
      service.clock.advance(2 * 60 * secondMs)
    }
    const times = await timesAtBank(folders)
    assert.deepEqual([times.size, ...times.values()], [3, 1, 1, 1])
  })

  test('a renaming whose answer is lost is found to be done, and not repeated', async () => {
    let lost = 0
    const bank = open({}, (transport) => ({
      ...transport,
      publish: async (temporary, name, signal) => {
        const outcome = await transport.publish(temporary, name, signal)
        // The bank takes the file at once, so that neither name is there at the next look.
        await atBank(folders)
        if ((lost += 1) === 1) throw new Error('the answer is lost')
        return outcome
      },
    }))
    await bank.connector.instruct(many(2))
    await bank.work()
    service.clock.advance(10 * secondMs)
    await bank.work()
    assert.deepEqual([...(await timesAtBank(folders)).values()], [1, 1])
    assert.equal((await newestFiles(service.db, 'iso20022', 1))[0]?.state, 'Delivered')
  })

  test('a process that lost its lease while it staged gives the bank nothing', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const { promise: staging, resolve: begun } = Promise.withResolvers<void>()
    const slow = open({}, (transport) => ({
      ...transport,
      stage: async (temporary, bytes, signal) => {
        begun()
        await held
        await transport.stage(temporary, bytes, signal)
      },
    }))
    await slow.connector.instruct(many(2))
    await slow.steps.make()
    const late = slow.steps.deliver()
    await staging
    assert.equal(await open().steps.deliver(), 0, 'the lease holds')
    service.clock.advance(2 * 60 * secondMs)
    await open().work()
    release()
    assert.equal(await late, 0)
    assert.deepEqual([...(await timesAtBank(folders)).values()], [1, 1])
    assert.deepEqual(await readdir(folders.toBank), [])
  })

  test('at the start of the only process, files of the one before go on at once', async () => {
    const hangs = open({}, (transport) => ({ ...transport, publish: () => new Promise(() => undefined) }))
    await hangs.connector.instruct(many(1))
    await hangs.steps.make()
    void hangs.steps.deliver()
    const next = open()
    for (let waited = 0; (await oldestUndelivered(service.db, 'iso20022')) !== null && waited < 200; waited += 1) {
      await releaseFileLeases(service.db)
      await next.work()
    }
    assert.deepEqual([...(await timesAtBank(folders)).values()], [1])
  })

  test('of several processes that work at once, each payment is in one file, and each file at the bank once', async () => {
    const rules = { paymentsPerFileMax: 7, instantWindowMs: 0, preferred: 'Instant', instantMax: 10_00n } as const
    const processes = [open(rules), open(rules), open(rules)]
    const payments = [...many(60), ...many(60, { amount: 10_01n })]
    await Promise.all(
      processes.flatMap(({ connector, work }, index) => [
        connector.instruct(payments.slice(index * 20, index * 20 + 80)),
        work(),
      ]),
    )
    for (let round = 0; round < 3; round += 1) await Promise.all(processes.map(({ work }) => work()))
    const times = await timesAtBank(folders)
    assert.equal(times.size, 120)
    assert.ok([...times.values()].every((count) => count === 1))
  })
})
