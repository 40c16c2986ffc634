/** The test bank as a program with control files and SFTP: a client sends a payment and reads the answer across a restart. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import SftpClient from 'ssh2-sftp-client'
import { createIsoBankProgram } from '../../examples/iso-bank/child.ts'
import { present } from '../../service/src/kernel/index.ts'
import { until } from '../support/until.ts'
import { pain001 } from './company.ts'

test('the bank takes files over SFTP and continues after a kill', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'iso-bank-'))
  const bank = createIsoBankProgram({ folder, sftp: true, pollMs: 20 })
  const client = new SftpClient()
  context.after(async () => {
    await client.end()
    await bank.stop()
    rmSync(folder, { recursive: true })
  })
  await bank.start()
  await bank.order({ order: 'payment', match: { amount: 5n }, treatment: { do: 'return', code: 'AC04' } })
  await bank.kill()
  const { host, port, username, privateKeyFile, hostKey } = present((await bank.start()).sftp, 'it was asked for')
  await client.connect({
    host,
    port,
    username,
    privateKey: readFileSync(privateKeyFile),
    hostVerifier: (key: Buffer) =>
      `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}` === hostKey,
  })
  const text = pain001('M1', [{ id: '1', amount: 5n }])
  await client.put(Buffer.from(text), '/to-bank/.M1.tmp')
  await client.rename('/to-bank/.M1.tmp', '/to-bank/M1.xml')
  await until('the payment came back', async () => (await bank.book()).payments[0]?.status === 'returned')
  await until('both bookings are told', async () => (await client.list('/from-bank')).length >= 3)
  const [report] = (await client.list('/from-bank')).filter(({ name }) => name.startsWith('camt.054'))
  const read = (await client.get(`/from-bank/${report?.name}`)) as Buffer
  assert.match(read.toString(), /<EndToEndId>E-1</)
  await client.delete(`/from-bank/${report?.name}`)
  await assert.rejects(client.get('/../../etc/passwd'), /No such file/)
  await assert.rejects(bank.order({ order: 'reverse', credit: 'unknown' }), /no booking unknown/)
})
