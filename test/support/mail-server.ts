/** A real SMTP server that stores the mails it receives, and a parser of mails. */
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export type ReceivedMail = { readonly from: string; readonly to: readonly string[]; readonly source: string }

/** Accepts any mail. `rcpt` answers the reply code that refuses a recipient, or undefined. */
export async function mailServer(
  options: SMTPServerOptions & { readonly rcpt?: (address: string) => number | undefined } = {},
) {
  const { rcpt, ...rest } = options
  const received: ReceivedMail[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    onRcptTo: ({ address }, _session, done) => {
      const responseCode = rcpt?.(address)
      done(responseCode === undefined ? null : Object.assign(new Error(`no mail for <${address}>`), { responseCode }))
    },
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const sender = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const to = envelope.rcptTo.map(({ address }) => address)
        received.push({ from: sender, to, source: Buffer.concat(chunks).toString('utf8') })
        done()
      })
    },
    ...rest,
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  const stop = () => new Promise<void>((resolve) => server.close(resolve))
  return { url: `smtp://127.0.0.1:${port}`, port, received, stop }
}

/** The unfolded header lines and the decoded text part. */
export function readMail(source: string) {
  const headers = source
    .slice(0, source.indexOf('\r\n\r\n'))
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const part = /Content-Type: text\/plain[^]*?\r\n\r\n([^]*?)\r\n--/.exec(source)?.[1] ?? ''
  const bytes = part
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  const text = /quoted-printable/.test(source) ? Buffer.from(bytes, 'latin1').toString('utf8') : part
  const all = (name: string) => headers.filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}: `))
  return {
    headers,
    text: text.replaceAll('\r\n', '\n'),
    all,
    one: (name: string) =>
      all(name)
        .join()
        .slice(name.length + 2),
  }
}
