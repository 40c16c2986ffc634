/** Into a folder, for a machine without a mail server: each mail one `.eml` file that a person can open and read. */
import { link, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { newId } from '../kernel/index.ts'
import { type MailMessage, type MailTransport, toNodemailer } from './transport.ts'

const addressCharsMax = 100

/** The folder is made where it is missing. It holds live tokens: nobody else may read it, nor a file in it. */
export function folderTransport(folder: string): MailTransport {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
  return {
    send: async (message) => {
      const options = toNodemailer(message)
      // Quoted-printable breaks long lines and writes `=3D`: a link that is to be copied stands in a header of its own,
      // as it is. The URL parser has made it plain ASCII without blanks.
      const headers = message.link === null ? {} : { 'X-Invitation-Link': { prepared: true, value: message.link } }
      const { message: bytes } = await composer.sendMail({ ...options, headers: { ...options.headers, ...headers } })
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await place(folder, fileName(message), bytes as Buffer)
    },
  }
}

/** `2026-11-21T04-52-00.000Z-ada@example.com`: no colon, which some file systems lack, and no separator at all. */
function fileName({ date, to }: MailMessage): string {
  const address = to.address.replace(/[^A-Za-z0-9@._+-]/g, '_').slice(0, addressCharsMax)
  return `${date.toISOString().replaceAll(':', '-')}-${address}`
}

/** A reader sees the whole file or none; a link, unlike a rename, never replaces the mail of the same millisecond. */
async function place(folder: string, name: string, bytes: Buffer): Promise<void> {
  const draft = join(folder, `.${newId()}.tmp`)
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    for (let number = 1; ; number += 1) {
      const taken = await link(draft, join(folder, `${name}${number === 1 ? '' : `-${number}`}.eml`)).then(
        () => false,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
          return true
        },
      )
      if (!taken) return
    }
  } finally {
    await rm(draft, { force: true })
  }
}
