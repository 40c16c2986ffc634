/** Writes each mail as an `.eml` file into a folder, for a machine without a mail server. */
import { link, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { newId } from '../kernel/index.ts'
import { type MailMessage, type MailTransport, toNodemailer } from './transport.ts'

const addressCharsMax = 100

/** Creates the folder if it is missing. Mails contain live tokens: only the owner may read the folder and its files. */
export function folderTransport(folder: string): MailTransport {
  return {
    send: async (message) => {
      const { createTransport } = await import('nodemailer')
      const composer = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
      const options = toNodemailer(message)
      // Quoted-printable breaks long lines and writes `=3D`, so a header of its own holds the link for copying. The URL
      // parser has made the link plain ASCII without blanks.
      const headers = message.link === null ? {} : { 'X-Invitation-Link': { prepared: true, value: message.link } }
      const { message: bytes } = await composer.sendMail({ ...options, headers: { ...options.headers, ...headers } })
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await publish(folder, fileName(message), bytes as Buffer)
    },
  }
}

/** `2026-11-21T04-52-00.000Z-ada@example.com`: no colon, which some file systems refuse, and no path separator. */
function fileName({ date, to }: MailMessage): string {
  const address = to.address.replace(/[^A-Za-z0-9@._+-]/g, '_').slice(0, addressCharsMax)
  return `${date.toISOString().replaceAll(':', '-')}-${address}`
}

/** A reader sees the whole file or none. A link, unlike a rename, does not replace another mail of the same millisecond. */
async function publish(folder: string, name: string, bytes: Buffer): Promise<void> {
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
