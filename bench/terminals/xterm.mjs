// Plays streams to xterm.js headless: one request a line, {cols, rows, steps: [{input}|{resize}]}, one answer a line.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
const require = createRequire(process.argv[2] + "/");
const { Terminal } = require("@xterm/headless");

for await (const line of createInterface({ input: process.stdin })) {
  const ask = JSON.parse(line);
  const t = new Terminal({ cols: ask.cols, rows: ask.rows, allowProposedApi: true, scrollback: 1000, windowOptions: { setWinLines: false } });
  for (const step of ask.steps) {
    if (step.resize) t.resize(step.resize[0], step.resize[1]);
    if (step.input) await new Promise((done) => t.write(Buffer.from(step.input, "base64"), done));
  }
  const b = t.buffer.active;
  const rows = [];
  for (let r = 0; r < t.rows; r++) rows.push(b.getLine(b.baseY + r).translateToString(true).trimEnd());
  console.log(JSON.stringify({ Rows: rows, Row: b.cursorY, Col: Math.min(b.cursorX, t.cols - 1) }));
  t.dispose();
}
