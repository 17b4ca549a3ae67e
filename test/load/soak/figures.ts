import { spread } from "../../../bench/spread.ts";
import type { SteadyLoad } from "./steady-load.ts";

export interface Sample {
  /** Seconds since the load began. */
  second: number;
  value: number;
}

export interface Figures {
  title: string;
  /** The duration of the load. */
  seconds: number;
  /** In seconds since the load began. */
  trouble: { from: number; to: number };
  /** MiB. */
  memory: Sample[];
  /** One line. */
  memoryTrend: string;
  /** Milliseconds: the 99th percentile of each part of the test. */
  latency: Sample[];
}

const LATENCY_PARTS = 60;

/** Prints the figures of a run and returns those for the chart. */
export function report(load: SteadyLoad, memory: Sample[], trouble: Figures["trouble"], seconds: number): Figures {
  const { answers } = load;
  const lost = countLost(load);
  const failures = answers.flatMap(({ failure }) => failure ?? []);
  console.log(`Steady load: ${answers.length + lost} requests, ${failures.length} documented failures, ${lost} lost.`);
  for (const troubled of [false, true]) {
    const { median, p99 } = spread(
      answers.filter((answer) => answer.troubled === troubled).map(({ latency }) => latency),
    );
    console.log(
      `Latency ${troubled ? "with" : "without"} trouble: p50 ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms.`,
    );
  }
  const at = (share: number) => memory[Math.floor((memory.length - 1) * share)]?.value.toFixed(0);
  // V8 lets its heaps grow before the first full collection, which takes half of the ten minutes.
  const slope = slopeOf(memory.filter(({ second }) => second >= (seconds * 2) / 3)) * 60;
  const change = `${Math.abs(slope).toFixed(1)} ${slope < 0 ? "less" : "more"} a minute in the last third`;
  const memoryTrend = `${at(0)} at the start, ${at(0.5)} in the middle, ${at(1)} at the end, ${change}`;
  console.log(`Memory of workerd in MiB: ${memoryTrend}.`);
  const part = (seconds * 1_000) / LATENCY_PARTS;
  const latency = Array.from({ length: LATENCY_PARTS }, (_, n) => {
    const latencies = answers.filter(({ start }) => Math.floor(start / part) === n).map(({ latency }) => latency);
    return { second: (n * part) / 1_000, value: spread(latencies).p99 };
  }).filter(({ value }) => !Number.isNaN(value));
  const title = `Soak test: ${answers.length} requests in ${seconds.toFixed(0)} s`;
  return { title, seconds, trouble, memory, memoryTrend, latency };
}

function countLost({ lost }: SteadyLoad): number {
  return [...lost.values()].reduce((sum, count) => sum + count, 0);
}

/** The slope of the least-squares line, in units of `value` per second. */
function slopeOf(samples: Sample[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const second = mean(samples.map((sample) => sample.second));
  const value = mean(samples.map((sample) => sample.value));
  const covariance = mean(samples.map((sample) => (sample.second - second) * (sample.value - value)));
  return covariance / mean(samples.map((sample) => (sample.second - second) ** 2));
}
