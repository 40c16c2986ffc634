/** PNG files of one colour, whole or broken. */
import { crc32, deflateSync } from 'node:zlib'

const chunk = (name: string, data: Buffer): Buffer => {
  const [length, sum, body] = [Buffer.alloc(4), Buffer.alloc(4), Buffer.concat([Buffer.from(name), data])]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

/** An image with four samples a pixel if it has `alpha`, else three. `pixels`: compressed data instead of that of the colour. */
export function png(width: number, height = width, { alpha = false, pixels }: PngOptions = {}): Buffer {
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, alpha ? 6 : 2, 0, 0, 0])
  head.writeUInt32BE(width)
  head.writeUInt32BE(height, 4)
  const rows = () => Buffer.alloc(Math.max(1, height * (1 + width * (alpha ? 4 : 3))))
  const image = chunk('IDAT', pixels ?? deflateSync(rows()))
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([signature, chunk('IHDR', head), image, chunk('IEND', Buffer.alloc(0))])
}
type PngOptions = { readonly alpha?: boolean; readonly pixels?: Buffer }
