/** A full disk, of the archive or of the bank, and an SFTP server that hangs: nothing half-done is sent, and what waits goes once. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { minuteMs } from '../../service/src/kernel/index.ts'
import { newestFiles } from '../../service/src/banks/files/store-instructions.ts'
import { createSftpTransport } from '../../service/src/banks/files/transport/sftp.ts'
import { addPartner } from '../support/composition.ts'
import { atEnd, untilEnd, useFolder, useModules } from '../support/fixture.ts'
import {
  createFolders,
  type Folders,
  instructionOf,
  openBank,
  openFolders,
  timesAtBank,
} from '../support/iso-outgoing.ts'
import { type SftpOperation, startSftpServer } from '../support/sftp.ts'

const service = await useModules({ now: new Date('2026-11-23T09:00:00Z') })
const { partnerId } = await addPartner(service)

function mount(folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=0777', 'tmpfs', folder], { stdio: 'ignore' })
}

/** Mounts need privileges that not every machine gives. */
async function permitsMounts(): Promise<boolean> {
  const { root } = await createFolders()
  try {
    mount(root)
    execFileSync('umount', [root])
    return true
  } catch {
    return false
  } finally {
    rmSync(root, { recursive: true })
  }
}
const skip = (await permitsMounts()) ? false : 'this machine does not permit the mount of a small disk'

/** Leaves `leftBytes` at most. */
function fill(folder: string, leftBytes: number): void {
  const file = openSync(join(folder, '.filler.tmp'), 'w')
  try {
    for (;;) writeSync(file, Buffer.alloc(4096))
  } catch {
    closeSync(file)
  }
  if (leftBytes > 0) execFileSync('truncate', ['-s', `-${leftBytes}`, join(folder, '.filler.tmp')])
}

const later = () => service.clock.advance(2 * minuteMs)

suite('a full disk', () => {
  for (const [which, leftBytes] of [
    ['archive', 0],
    ['archive', 4096],
    ['toBank', 0],
    ['toBank', 4096],
  ] as const)
    test(
      `${which} with ${leftBytes} bytes left: the bank gets no file until there is space, and then all payments`,
      { skip },
      async () => {
        const folders: Folders = await openFolders(await useFolder())
        const disk = folders[which]
        mount(disk)
        atEnd(() => execFileSync('umount', [disk]))
        const bank = openBank(service, folders)
        const payments = Array.from({ length: 40 }, () => instructionOf(partnerId))
        await bank.connector.instruct(payments)
        fill(disk, leftBytes)
        await bank.work()
        const [file] = await newestFiles(service.db, 'iso20022', 1)
        assert.match(file?.problem ?? '', /ENOSPC/)
        assert.equal((await timesAtBank(folders)).size, 0)
        const left = readdirSync(disk, { recursive: true, withFileTypes: true })
        const partial = left.filter((entry) => entry.isFile() && entry.name !== '.filler.tmp')
        if (which === 'archive') assert.deepEqual(partial, [], 'a part of a file would keep the disk full')
        else for (const { name } of partial) assert.ok(name.startsWith('.'), 'the bank sees no part of a file')
        rmSync(join(disk, '.filler.tmp'))
        later()
        await bank.work()
        const times = await timesAtBank(folders)
        assert.equal(times.size, 40)
        assert.ok([...times.values()].every((count) => count === 1))
        assert.deepEqual(readdirSync(folders.toBank), [])
      },
    )
})

suite('an SFTP server that hangs', () => {
  const operations = ['connect', 'session', 'open', 'write', 'fsync', 'close', 'lstat', 'rename', 'remove'] as const
  for (const operation of operations satisfies readonly SftpOperation[])
    for (const fault of ['hang', 'cut after'] as const)
      test(`${operation}, ${fault}: payments are sent once, after the server answers again`, async () => {
        const folders = await openFolders(await useFolder())
        let isBroken = true
        const server = untilEnd(
          await startSftpServer({
            folder: folders.root,
            fault: (each) => (isBroken && each === operation ? fault : undefined),
          }),
        )
        const sftp = untilEnd(createSftpTransport({ ...server.config, toBank: '/to', fromBank: '/from' }, 700))
        const bank = openBank(service, folders, {}, () => sftp)
        const payment = instructionOf(partnerId)
        await bank.connector.instruct([payment])
        await bank.work()
        isBroken = false
        for (let round = 0; round < 3; round += 1) {
          later()
          await bank.work()
        }
        assert.deepEqual([...(await timesAtBank(folders))], [[payment.id.replaceAll('-', ''), 1]])
        assert.deepEqual(readdirSync(folders.toBank), [])
        const [row] = await newestFiles(service.db, 'iso20022', 1)
        const archived = readFileSync(join(folders.archive, 'out', '2026-11-23', row?.name ?? ''))
        assert.ok(archived.length > 0)
      })
})
