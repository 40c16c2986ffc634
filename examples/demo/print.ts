/** Prints progress: one line with the seconds since the start, a topic and a text. */

export type Print = (topic: string, text: string) => void

const topicWidth = 13

export function createPrint(): Print {
  const start = performance.now()
  return (topic, text) => {
    const seconds = ((performance.now() - start) / 1000).toFixed(1).padStart(5)
    write(`${seconds} s  ${topic.padEnd(topicWidth)}${text}`)
  }
}

export const write = (text: string): void => void process.stdout.write(`${text}\n`)
