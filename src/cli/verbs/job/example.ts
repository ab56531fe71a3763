/** The job file that `muster job init` writes: one that agents run today, with what most people change first. */
export const shortExample = `job "example" {
  datacenters = ["dc1"]

  group "clock" {
    task "clock" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do date; sleep 5; done"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
`

export const longExample = `# A value that is given with -var 'seconds=10'.
variable "seconds" {
  type    = number
  default = 5
}

job "example" {
  # service: runs on. batch: ends. system: on every node.
  type        = "service"
  datacenters = ["dc1"]
  priority    = 50

  # Only on these nodes.
  constraint {
    attribute = "\${attr.kernel.name}"
    value     = "linux"
  }

  # How a new version replaces the old one.
  update {
    max_parallel     = 1
    min_healthy_time = "10s"
    healthy_deadline = "3m"
  }

  # What runs together on one node.
  group "clock" {
    count = 1

    network {
      # A free port of the node; tasks find it in their environment.
      port "http" {}
    }

    # How often the tasks are restarted on their node before the group is placed anew.
    restart {
      attempts = 2
      interval = "30m"
      delay    = "15s"
      mode     = "fail"
    }

    ephemeral_disk {
      size = 300
    }

    task "clock" {
      # Runs a command as the user of the client agent, whose configuration has to enable the driver.
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do echo \\"$GREETING on port $NOMAD_PORT_http: $(date)\\"; sleep \${var.seconds}; done"]
      }

      env {
        GREETING = "good day"
      }

      # Between the signal to end and the one that kills.
      kill_timeout = "5s"

      logs {
        max_files     = 3
        max_file_size = 10 # MB
      }

      resources {
        cpu    = 50 # MHz
        memory = 32 # MB
      }
    }
  }
}
`
