import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { folderTransport } from './folder.ts'
import { type MailMessage, MailRefused } from './transport.ts'

let root: string
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'partner-payments-mail-'))
})
after(() => rm(root, { recursive: true, force: true }))

const link = `https://portal.example/join?next=${'x'.repeat(100)}&token=${'T'.repeat(64)}`
const message: MailMessage = {
  messageId: '<0193f2a8-0000-7000-8000-00000000abcd@acme.example>',
  date: new Date('2026-11-21T08:00:00.123Z'),
  from: { name: 'Acme', address: 'no-reply@acme.example' },
  to: { name: 'Ada', address: 'ada@example.com' },
  subject: 'Grace invites you to Zoë & Söhne',
  text: `Zoë invites you.\n\n${link}\n`,
  html: `<p>Zoë invites you</p>`,
  link,
}

test('a mail is a readable file with the link in one piece, and only its owner may read it', async () => {
  const folder = join(root, 'new', 'mailbox')
  await folderTransport(folder).send(message)
  assert.deepEqual(await readdir(folder), ['2026-11-21T08-00-00.123Z-ada@example.com.eml'])
  const text = await readFile(join(folder, '2026-11-21T08-00-00.123Z-ada@example.com.eml'), 'utf8')
  const head = text.slice(0, text.indexOf('\n\n')).split('\n')
  for (const line of [
    'From: Acme <no-reply@acme.example>',
    'To: Ada <ada@example.com>',
    'Message-ID: <0193f2a8-0000-7000-8000-00000000abcd@acme.example>',
    'Date: Sat, 21 Nov 2026 08:00:00 +0000',
    `X-Invitation-Link: ${link}`,
  ])
    assert(head.includes(line), `${line}\n${text}`)
  assert(!text.includes('base64'), text)
  if (process.platform === 'win32') return
  assert.equal((await stat(folder)).mode & 0o777, 0o700)
  assert.equal((await stat(join(folder, '2026-11-21T08-00-00.123Z-ada@example.com.eml'))).mode & 0o777, 0o600)
})

test('an address cannot lead out of the folder, and mails of the same millisecond do not replace each other', async () => {
  const folder = join(root, 'mailbox')
  const { send } = folderTransport(folder)
  const hostile = { ...message, to: { name: '', address: '../../../../tmp/x/../evil@a.example' } }
  await Promise.all([send(hostile), send(message), send(message), send(message)])
  assert.deepEqual((await readdir(folder)).sort(), [
    '2026-11-21T08-00-00.123Z-.._.._.._.._tmp_x_.._evil@a.example.eml',
    '2026-11-21T08-00-00.123Z-ada@example.com-2.eml',
    '2026-11-21T08-00-00.123Z-ada@example.com-3.eml',
    '2026-11-21T08-00-00.123Z-ada@example.com.eml',
  ])
  await send({ ...message, to: { name: '', address: `${'a'.repeat(300)}@b.example` } })
  await assert.rejects(send({ ...message, to: { name: '', address: 'a@b\r\nBcc: x@y' } }), MailRefused)
  assert.equal((await readdir(folder)).length, 5)
})

test('sending fails if the folder cannot be written, and works again when it can', async () => {
  const { send } = folderTransport(join(root, 'file'))
  await folderTransport(root).send(message)
  const [file] = (await readdir(root)).filter((name) => name.endsWith('.eml'))
  assert(file)
  await assert.rejects(folderTransport(join(root, file)).send(message), { code: 'EEXIST' })
  await send(message)
})
