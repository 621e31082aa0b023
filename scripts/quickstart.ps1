# UNTESTED: written from the documentation of the tools it calls, and never yet run on a Windows machine. If a step of it
# fails, please open an issue with its output; the steps are few enough to be done by hand.
#
# To a first measurement on Windows: with the lanescope.exe of a release, which lies beside this script's folder, at once;
# from a fresh clone by installing what is missing with winget and building. Then it measures, and shows the table. Arguments
# go to lanescope run:
#
#   powershell -ExecutionPolicy Bypass -File scripts\quickstart.ps1 --device 1
#
# A Vulkan driver is not installed: it is part of the graphics driver (AMD, Intel, NVIDIA, Qualcomm).

$ErrorActionPreference = 'Stop'
Set-Location (Split-Path -Parent $PSScriptRoot)

function Say([string] $text) { Write-Host "==> $text" }

function Stop-With([string] $text) {
    Write-Host "error: $text" -ForegroundColor Red
    exit 1
}

# Whether a command answers. Through cmd, because Windows' stand-ins for python exist but only point to the Store.
function Test-Answer([string] $command) {
    cmd /c "$command --version >nul 2>nul"
    return $LASTEXITCODE -eq 0
}

# winget changes the PATH of new terminals, not of this one; CMake's installer changes none.
function Update-Path {
    $env:Path = @(
        $env:Path
        [Environment]::GetEnvironmentVariable('Path', 'Machine')
        [Environment]::GetEnvironmentVariable('Path', 'User')
        "$env:USERPROFILE\.cargo\bin"
        "$env:ProgramFiles\CMake\bin"
    ) -join ';'
}

function Install-Missing([string] $id, [string[]] $more = @()) {
    if (-not (Test-Answer 'winget')) {
        Stop-With "winget is missing (it is the App Installer of the Microsoft Store): install it, or install $id by hand"
    }
    Say "installing: $id"
    winget install --exact --id $id --source winget --accept-package-agreements --accept-source-agreements @more
    # Some installers end with another code than 0 when they want a restart: what counts is whether the tool answers then.
    Update-Path
}

function Test-Rust {
    if (-not ((Test-Answer 'rustc') -and (Test-Answer 'cargo'))) { return $false }
    $version = ((rustc --version) -split ' ')[1] -replace '-.*', ''
    return [version] $version -ge [version] $minimumRust
}

function Test-CppTools {
    $vswhere = "${env:ProgramFiles(x86)}\Microsoft Visual Studio\Installer\vswhere.exe"
    if (-not (Test-Path $vswhere)) { return $false }
    return [bool] (& $vswhere -products '*' -requires Microsoft.VisualStudio.Component.VC.Tools.x86.x64 -property installationPath)
}

# Builds lanescope with what is there or gets installed. What a function gives is all that its commands print, so the path of
# the exe is kept instead.
function Build-Lanescope {
    $minimumRust = (Select-String -Path Cargo.toml -Pattern '^rust-version = "(.*)"').Matches[0].Groups[1].Value
    Update-Path

    if (-not (Test-CppTools)) {
        Install-Missing 'Microsoft.VisualStudio.2022.BuildTools' @(
            '--override', '--wait --passive --norestart --add Microsoft.VisualStudio.Workload.VCTools --includeRecommended')
    }
    if (-not (Test-CppTools)) { Stop-With 'the C++ build tools are still missing: install "Desktop development with C++"' }

    if (-not (Test-Answer 'git')) { Install-Missing 'Git.Git' }
    if (-not (Test-Answer 'cmake')) { Install-Missing 'Kitware.CMake' }
    if (-not (Test-Answer 'ninja')) { Install-Missing 'Ninja-build.Ninja' }
    if (-not ((Test-Answer 'python3') -or (Test-Answer 'python'))) { Install-Missing 'Python.Python.3.12' }

    if (-not (Test-Rust)) {
        if (-not (Test-Answer 'rustup')) { Install-Missing 'Rustlang.Rustup' }
        if (-not (Test-Rust)) {
            Say "installing: Rust's stable toolchain, through rustup (your default toolchain stays as it is)"
            rustup toolchain install stable --profile minimal
            $env:RUSTUP_TOOLCHAIN = 'stable'
        }
    }
    if (-not (Test-Rust)) { Stop-With "Rust $minimumRust or newer is needed, and does not answer: open a new terminal and try again" }

    Say 'building lanescope, and with it the shader compiler from source: 10 to 30 minutes the first time'
    cargo build --release --locked
    if ($LASTEXITCODE -ne 0) {
        Stop-With 'the build failed (above). If it speaks of paths that are too long, set $env:CARGO_TARGET_DIR = "C:\t" and try again'
    }
    $target = if ($env:CARGO_TARGET_DIR) { $env:CARGO_TARGET_DIR } else { '.\target' }
    $script:lanescope = "$target\release\lanescope.exe"
}

Say 'this script is untested on Windows so far: please report what happens'
if (-not (Test-Path "$env:SystemRoot\System32\vulkan-1.dll")) {
    Say 'there is no Vulkan loader on this machine: it comes with the graphics driver, so install or update that'
}

# Shipped where a release was unpacked.
$lanescope = '.\lanescope.exe'
if (-not (Test-Path $lanescope)) { Build-Lanescope }

# On a terminal the command shows the table beside the file by itself.
$table = if ([Console]::IsOutputRedirected) { @('-o', '-', '--format', 'table') } else { @() }
Say 'measuring the quick overview (about a minute): lanescope run --preset quick -o lanescope.csv'
& $lanescope run --preset quick -o lanescope.csv @table @args
$status = $LASTEXITCODE

if (Test-Path lanescope.csv) { Say "the results, one row per configuration: $((Resolve-Path lanescope.csv).Path)" }
Say "next: $lanescope list                what can be measured
    $lanescope devices             what it can be measured on
    $lanescope run --help          how to choose, sweep and sharpen"
exit $status
